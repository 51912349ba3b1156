"""Numerical core: functions whose array arguments have already been checked."""
