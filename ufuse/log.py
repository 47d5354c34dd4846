"""Logging: standard `logging` loggers, switched on by name."""

from __future__ import annotations

import logging

TOPICS = ("breaks", "retraces", "guards", "graphs", "bytecode", "kernels", "times")
_HANDLER = logging.StreamHandler()
_HANDLER.setFormatter(logging.Formatter("%(name)s: %(message)s"))


def set_log(topics: str) -> None:
    """Show what ufuse does on standard error; the same as the environment variable `UFUSE_LOG`.

    Args:
        topics: names separated by commas, of breaks, retraces, guards, graphs, bytecode, kernels, times; "all" for
            everything, "" for nothing. Each is the logger `ufuse.<name>`.

    Raises:
        TypeError: topics is not a string.
        ValueError: a name is none of these.

    Example:
        >>> set_log("breaks,retraces")
        >>> set_log("")

    """
    if not isinstance(topics, str):
        raise TypeError(
            f"topics must be a str of names separated by commas, not {type(topics).__name__}"
        )
    names = [name.strip() for name in topics.split(",") if name.strip()]
    unknown = [name for name in names if name not in TOPICS and name != "all"]
    if unknown:
        raise ValueError(
            f"topics names {unknown[0]!r}, which is not one of {', '.join(TOPICS)} or all"
        )
    wanted = TOPICS if "all" in names else names
    for topic in TOPICS:
        logger = logging.getLogger(f"ufuse.{topic}")
        if topic in wanted:
            logger.setLevel(logging.DEBUG)
            if _HANDLER not in logger.handlers:
                logger.addHandler(_HANDLER)
            logger.propagate = False
        else:
            logger.removeHandler(_HANDLER)
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
