# SPDX-License-Identifier: Apache-2.0
"""Messages of the library go to the logger "bessemer"."""
import logging

from . import _core

logger = logging.getLogger("bessemer")

#: Whole graphs as text, below DEBUG.
GRAPH = 5
logging.addLevelName(GRAPH, "GRAPH")

# By number, as bsm_log_level.
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, GRAPH)


def level():
    """The most verbose level of the library that the logger wants."""
    wanted = 0
    for number, its in enumerate(_LEVELS):
        if logger.isEnabledFor(its):
            wanted = number
    return wanted


def _write(number, message):
    logger.log(_LEVELS[number], "%s", message)


_core.set_log(_write)
