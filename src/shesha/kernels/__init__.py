"""The numerical core: functions of arrays that were checked beforehand."""
