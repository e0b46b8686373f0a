#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""progress_test.py BESSEMER: a bar on a terminal, and only there; a line for
each phase with --verbose; Ctrl-C cancels, and leaves no file. Warnings and
failures have colours there, unless NO_COLOR is set."""
import os
import pty
import signal
import subprocess
import sys
import tempfile

BESSEMER = sys.argv[1]
# Unrolled and converted node by node: long enough to be interrupted.
MODEL = """graph(%x : Tensor):
  %n : int = prim::Constant[value={turns}]()
  %t : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %a : Tensor):
      %b : Tensor = aten::cumsum(%a, %one, %none)
      -> (%t, %b)
  return (%y)
""".replace("  %t : bool", "  %one : int = prim::Constant[value=1]()\n"
            "  %none : NoneType = prim::Constant()\n  %t : bool")
# The text in front of a bar, as it is drawn.
BAR = b"\r\x1b[K"


def write_model(turns):
    with open("model.ir", "w") as file:
        file.write(MODEL.format(turns=turns))


def on_terminal(*arguments, interrupt=False, term="xterm", no_colour=""):
    """The exit status, and what the terminal shows."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = term
        os.environ["NO_COLOR"] = no_colour
        os.execv(BESSEMER, [BESSEMER, *arguments])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
        if interrupt and BAR in shown:
            os.write(terminal, b"\x03")
            interrupt = False
    os.close(terminal)
    return os.waitpid(pid, 0)[1], shown


def check(good, what, shown=b""):
    if not good:
        sys.exit(f"FAILED: {what}\n{shown.decode(errors='replace')[-2000:]}")


def check_colours():
    """A warning is yellow, and a failure names the command in red."""
    warned = ["run", "model.bsm", "--precision", "fp16"]
    for arguments, word in ((warned, b"\x1b[33mwarning\x1b[0m: "),
                            (["run", "absent.bsm"],
                             b"\x1b[31mbessemer run\x1b[0m: ")):
        shown = on_terminal(*arguments)[1]
        check(word in shown, f"no colour: {arguments}", shown)
        for options in ({"term": "dumb"}, {"no_colour": "1"}):
            shown = on_terminal(*arguments, **options)[1]
            check(b"\x1b" not in shown, f"a colour: {options}", shown)
        piped = subprocess.run([BESSEMER, *arguments], capture_output=True)
        check(b"\x1b" not in piped.stderr + piped.stdout, "a colour in a pipe",
              piped.stderr)


def main():
    command = ["compile", "model.ir", "(2,8)", "--no-timing", "-o", "model.bsm"]
    write_model(2000)
    status, shown = on_terminal(*command)
    check(status == 0, "compiling on a terminal", shown)
    check(BAR + b"lowering" in shown and b" of " in shown, "no bar", shown)
    last = shown.rindex(BAR)
    check(shown[last + len(BAR):].startswith(b"model.bsm: "),
          "the bar was not taken away", shown)
    for extra, term in (([], "dumb"), (["--verbose"], "xterm"),
                        (["--warnings"], "xterm")):
        status, shown = on_terminal(*command, *extra, term=term)
        check(status == 0 and BAR not in shown, f"a bar: {extra} {term}", shown)
    piped = subprocess.run([BESSEMER, *command], capture_output=True)
    check(piped.returncode == 0 and not piped.stderr, "output in a pipe",
          piped.stderr)
    piped = subprocess.run([BESSEMER, *command, "--verbose"],
                           capture_output=True)
    lines = [line for line in piped.stderr.splitlines() if b" took " in line]
    phases = [line.split(b": ")[1].split()[0] for line in lines]
    check(phases[:2] == [b"lowering", b"converting"] and len(set(phases)) ==
          len(phases), f"lines of phases: {phases}", piped.stderr)

    check_colours()
    os.remove("model.bsm")
    write_model(20000)
    status, shown = on_terminal(*command, interrupt=True)
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT,
          f"status {status} after Ctrl-C", shown)
    check(b"bessemer compile\x1b[0m: cancelled" in shown, "nothing says so",
          shown)
    check(os.listdir(".") == ["model.ir"], f"left: {os.listdir('.')}")
    print("progress_test: ok")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
