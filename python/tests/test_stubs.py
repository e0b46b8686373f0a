# SPDX-License-Identifier: Apache-2.0
"""The stubs name what the package has, with the same parameters."""
import ast
import importlib
import inspect
import pathlib

import pytest

import bessemer

FOLDER = pathlib.Path(bessemer.__file__).parent


@pytest.mark.parametrize("module", ["bessemer", "bessemer.torch",
                                    "bessemer.torch.ptq"])
def test_stubs(module):
    if module != "bessemer":
        pytest.importorskip("torch")
    package = importlib.import_module(module)
    path = pathlib.Path(package.__file__).with_suffix(".pyi")
    tree = ast.parse(path.read_text())
    defined = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            defined[node.target.id] = node
    public = {name for name in defined if not name.startswith("_")}
    assert public == set(package.__all__)
    for name, node in defined.items():
        if isinstance(node, ast.FunctionDef):
            check_parameters(getattr(package, name), node, name)
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    its = inspect.getattr_static(getattr(package, name),
                                                 item.name)
                    if inspect.isfunction(its):
                        check_parameters(its, item, f"{name}.{item.name}")


def check_parameters(function, node, name):
    try:
        real = inspect.signature(function)
    except ValueError:  # of the extension
        return
    arguments = node.args
    stubbed = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    stubbed += [arguments.vararg.arg] if arguments.vararg else []
    stubbed += [a.arg for a in arguments.kwonlyargs]
    stubbed += [arguments.kwarg.arg] if arguments.kwarg else []
    assert stubbed == list(real.parameters), name


def test_the_package_says_that_it_is_typed():
    assert (FOLDER / "py.typed").exists()


def test_everything_has_a_docstring():
    for name in bessemer.__all__:
        value = getattr(bessemer, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert value.__doc__, name
