# SPDX-License-Identifier: Apache-2.0
# The extension: python/src. Nothing in it is for users.
from typing import Any

Engine: Any
Context: Any
Module: Any

def __getattr__(name: str) -> Any: ...
