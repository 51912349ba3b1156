"""Warnings that come with a number, or instead of one."""


class NotEstimableWarning(UserWarning):
    """The data cannot give this score; NaN was returned, and the message says why."""


class NotIdentifiableWarning(UserWarning):
    """The score has no identifiable estimand; the message names what to use instead."""
