# SPDX-License-Identifier: Apache-2.0
"""The list of a file of nets: each is a class that its decorator registers."""
import torch


class Cases(list):
    """(name, a function that makes the net and its inputs, how it is exported)."""

    def __call__(self, *shapes, hows=("trace",), inputs=None):
        """Registers a module class, with the shapes of its inputs."""
        def register(cls):
            self.append((cls.__name__,
                         lambda: (cls(), inputs() if inputs else tuple(torch.randn(s) for s in shapes)), hows))
            return cls
        return register
