# SPDX-License-Identifier: Apache-2.0
"""Arguments and results with the structure that the model gives them.

The extension hands out structures (bessemer/structure.h) as nested tuples

    (kind, type name, key, path, binding, is fixed, value, children)

`Signature` takes a call apart into the engine's inputs; `make_builder` puts
its outputs together.
"""
import collections
import difflib

import numpy as np

from . import _dtypes

# bsm_structure_kind
(NONE, TENSOR, INT, FLOAT, BOOL, STRING, OTHER, LIST, TUPLE, NAMED_TUPLE, DICT,
 OBJECT, ARGUMENTS, RUN_TIME, OPTIONAL, ANY) = range(16)

Node = collections.namedtuple(
    "Node", "kind type_name key path binding is_fixed value children")


def node_of(tree):
    """The Node of a nested tuple; None for None."""
    if tree is None:
        return None
    return Node(*tree[:7], tuple(node_of(child) for child in tree[7]))


def has_run_time_parts(node):
    """Whether only a run knows what a part of the result is."""
    return node is not None and (
        node.kind == RUN_TIME or any(map(has_run_time_parts, node.children)))


# ---- arguments ----

def _near(name, names):
    """A hint for a name that is none of them."""
    found = difflib.get_close_matches(name, names, 1)
    return f", perhaps {found[0]!r}" if found else ""


class Signature:
    """How the arguments of a call become the inputs of an engine."""

    def __init__(self, root, dtypes):
        self.dtypes = dtypes  # of the inputs, as numbers
        self.name = root.type_name if root else "engine"
        self.parameters = root.children if root else None

    @property
    def is_flat(self):
        """Whether each argument is one tensor, in the order of the inputs."""
        if self.parameters is None:
            return True
        return all(p.kind == TENSOR and p.binding == i
                   for i, p in enumerate(self.parameters))

    def bind(self, *args, **kwargs):
        """The inputs that these arguments are, as a tuple."""
        if self.parameters is None:
            if kwargs:
                raise TypeError("this engine's inputs have no names")
            return args
        leaves = [None] * len(self.dtypes)
        if len(args) > len(self.parameters):
            raise TypeError(f"{self.name}() takes {len(self.parameters)} "
                            f"arguments, {len(args)} were given")
        for name in kwargs:
            if all(name != parameter.key for parameter in self.parameters):
                raise TypeError(
                    f"{self.name}() has no argument {name!r}"
                    + _near(name, [str(p.key) for p in self.parameters])
                    + "; its arguments are "
                    + ", ".join(str(p.key) for p in self.parameters))
        for i, parameter in enumerate(self.parameters):
            if i < len(args):
                if parameter.key in kwargs:
                    raise TypeError(f"{self.name}() got two values for the "
                                    f"argument {parameter.key!r}")
                self._flatten(parameter, args[i], leaves)
            elif parameter.key in kwargs:
                self._flatten(parameter, kwargs.pop(parameter.key), leaves)
            elif _has_inputs(parameter):
                raise TypeError(f"{self.name}() misses the argument "
                                f"{parameter.key!r}")
        return tuple(leaves)

    def _flatten(self, node, value, leaves):
        if node.binding >= 0:
            leaves[node.binding] = self._leaf(node, value)
        elif node.children:
            for child, item in _pairs(node, value):
                self._flatten(child, item, leaves)
        else:
            _check_fixed(node, value)

    def _leaf(self, node, value):
        if isinstance(value, (bool, int, float, complex)):
            return np.array(value, _dtypes.numpy_of(self.dtypes[node.binding]))
        if value is None:
            raise TypeError(f"{node.path} is a tensor, not None")
        return value


def _has_inputs(node):
    return node.binding >= 0 or any(map(_has_inputs, node.children))


def _pairs(node, value):
    """The children of a container, each with its part of `value`."""
    if node.kind == DICT:
        keys = [child.key for child in node.children]
        if not hasattr(value, "keys") or set(value.keys()) != set(keys):
            raise ValueError(f"{node.path} is a dict with the keys {keys}")
        return [(child, value[child.key]) for child in node.children]
    if node.kind in (NAMED_TUPLE, OBJECT) and not _is_plain(value):
        if isinstance(value, dict):
            return _pairs_of_fields(node, value)
        return [(child, getattr(value, child.key)) for child in node.children]
    try:
        items = list(value)
    except TypeError:
        raise TypeError(f"{node.path} is a container of {len(node.children)}, "
                        f"not a {type(value).__name__}") from None
    if len(items) != len(node.children):
        raise ValueError(f"{node.path} has {len(node.children)} items, "
                         f"{len(items)} were given")
    return zip(node.children, items)


def _pairs_of_fields(node, value):
    """The same where a dict is given for fields. Those of torch.export whose
    values differ in type are such; the fields are their keys as text."""
    named = {str(key): item for key, item in value.items()}
    keys = [child.key for child in node.children]
    if set(named) != set(keys):
        raise ValueError(f"{node.path} has the fields {keys}")
    return [(child, named[child.key]) for child in node.children]


def _is_plain(value):
    return isinstance(value, (list, tuple)) and not hasattr(value, "_fields")


def _check_fixed(node, value):
    """Refuses a value that is not the one that was compiled in."""
    if node.kind == TENSOR:
        raise ValueError(f"{node.path} was folded into the engine")
    if node.kind in (OTHER, NAMED_TUPLE, OBJECT):
        return
    fixed = None if node.kind == NONE else node.value
    if node.kind in (LIST, TUPLE, DICT):
        fixed, value = 0, len(value)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if not isinstance(value, (bool, int, float, str, type(None))) or (
            value != fixed):
        raise ValueError(f"{node.path} was {fixed!r} when the engine was "
                         "compiled, which fixed it; another value was given")


# ---- results ----

_tuple_classes = {}


def _named_tuple(node):
    """The class of a NamedTuple of the model, made from its name and fields."""
    fields = tuple(child.key for child in node.children)
    name = node.type_name.rpartition(".")[2] or "Result"
    key = name, fields
    if key not in _tuple_classes:
        _tuple_classes[key] = collections.namedtuple(name, fields, rename=True)
    return _tuple_classes[key]


def value_of(node, outputs):
    """The value of a node, whose tensors are among `outputs`."""
    if node.kind == TENSOR:
        return outputs[node.binding]
    if node.kind in (INT, FLOAT, BOOL):
        return (node.value if node.is_fixed or node.binding < 0 else
                outputs[node.binding].item())
    if node.kind in (STRING, OTHER):
        return node.value
    if node.kind == NONE:
        return None
    parts = [value_of(child, outputs) for child in node.children]
    if node.kind == LIST:
        return parts
    if node.kind == TUPLE:
        return tuple(parts)
    if node.kind in (NAMED_TUPLE, OBJECT):
        return _named_tuple(node)(*parts)
    return {child.key: part for child, part in zip(node.children, parts)}


def make_builder(node):
    """A function of the outputs, and of the structure of the run where only
    that knows it, that makes the result."""
    if node is None:
        return lambda outputs, tree: (outputs[0] if len(outputs) == 1
                                      else outputs)
    if has_run_time_parts(node):
        return lambda outputs, tree: value_of(node_of(tree), outputs)
    leaves = [child.binding for child in node.children]
    if (node.kind in (LIST, TUPLE) and leaves == list(range(len(leaves)))
            and all(child.kind == TENSOR for child in node.children)):
        kind = list if node.kind == LIST else tuple
        return lambda outputs, tree: kind(outputs)
    return lambda outputs, tree: value_of(node, outputs)
