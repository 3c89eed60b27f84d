# gdb's half of session.py, for the Python inside gdb 13.
import os
import struct
import sys

import gdb

sys.path.insert(0, os.environ["METALOC_SESSION"])
import session

SETTINGS = [
    "pagination off",
    "confirm off",
    "width 0",
    "height 0",
    "style enabled off",
    "print frame-arguments none",
    "print inferior-events off",
    # libc6-dbg would make it step into libc.
    "debug-file-directory /nonexistent",
    "auto-load no",
    "disable-randomization on",
    "print symbol-loading off",
]
INTEGERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM)
LARGEST = 4096


class Gdb:
    name = "gdb"

    def __init__(self):
        self.breakpoints = {}
        self.ignored = {}
        self.how = None
        for setting in SETTINGS:
            run("set " + setting)
        # Somebody who halts all processes for a while does not mean this one.
        run("handle SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGCONT nostop noprint nopass")
        gdb.events.stop.connect(self.on_stop)
        gdb.events.exited.connect(self.on_exit)

    def version(self):
        return gdb.VERSION

    def start(self, program, args, folder):
        run("file " + quote(program))
        run("cd " + folder)
        run("set args " + " ".join(quote(arg) for arg in args))
        self.move("starti")

    def alive(self):
        return self.pid() != 0

    def pid(self):
        return gdb.selected_inferior().pid

    def break_at(self, address):
        if address not in self.breakpoints:
            self.breakpoints[address] = gdb.Breakpoint("*%#x" % address, internal=True)

    def break_line(self, file, line):
        breakpoint = gdb.Breakpoint("%s:%d" % (file, line), internal=True)
        places = []
        for location in breakpoint.locations if hasattr(breakpoint, "locations") else []:
            places.append(location.address)
        if not places:
            # gdb 13.1 does not list the places: ask the decoder.
            _, found = gdb.decode_line("%s:%d" % (file, line))
            places = [place.pc for place in found or []]
        for place in places:
            self.breakpoints.setdefault(place, breakpoint)
        return places

    def remove(self, address):
        breakpoint = self.breakpoints.pop(address, None)
        if breakpoint is not None and breakpoint not in self.breakpoints.values():
            breakpoint.delete()

    def ignore(self, address, times):
        self.breakpoints[address].ignore_count = times
        self.ignored[address] = self.breakpoints[address].hit_count

    def passed(self, address):
        self.breakpoints[address].ignore_count = 0
        return self.breakpoints[address].hit_count - self.ignored.pop(address)

    def resume(self):
        return self.move("continue")

    def count(self, addresses):
        counters = [gdb.Breakpoint("*%#x" % address, internal=True) for address in addresses]
        for counter in counters:
            counter.ignore_count = 2**31 - 1
        how = self.resume()
        if "why" in how:
            raise session.Refused("the program stopped before its end")
        return [counter.hit_count for counter in counters]

    def step_instruction(self):
        return self.move("stepi")

    def step_line(self):
        return self.move("step")

    def move(self, command):
        self.how = None
        run(command)
        if self.how is None:
            raise session.Refused("gdb did not say how '%s' ended" % command)
        return self.how

    def on_stop(self, event):
        if isinstance(event, gdb.SignalEvent) and event.stop_signal not in ("SIGTRAP", "0"):
            self.how = {"why": "signal", "signal": event.stop_signal}
        elif isinstance(event, gdb.BreakpointEvent):
            self.how = {"why": "breakpoint"}
        else:
            self.how = {"why": "step"}

    def on_exit(self, event):
        if hasattr(event, "exit_code"):
            self.how = {"answer": "exited", "code": event.exit_code}
        else:
            signal = gdb.convenience_variable("_exitsignal")
            self.how = {"answer": "killed", "signal": int(signal) if signal is not None else 0}

    def place(self):
        frame = gdb.newest_frame()
        where = frame.find_sal()
        return frame.pc(), where.line, frame.name()

    def memory(self, address, length):
        return gdb.selected_inferior().read_memory(address, length)

    def variables(self):
        frame = gdb.newest_frame()
        try:
            block = frame.block()
        except RuntimeError:
            return []
        found, seen = [], set()
        while block is not None:
            # gdb has no order here that says which of two equal names of one block is the later one.
            for symbol in block:
                if shown(symbol) and symbol.name not in seen:
                    found.append(self.variable(symbol, frame))
            seen.update(symbol.name for symbol in block)
            if block.function is not None:
                break
            block = block.superblock
        return found

    def variable(self, symbol, frame):
        name, line = symbol.name, symbol.line
        try:
            value = symbol.value(frame) if symbol.needs_frame else symbol.value()
            if value.is_optimized_out:
                return session.variable(name, line, "optimised_out")
            return session.variable(name, line, "known", *known(value, self.word))
        except (gdb.error, RuntimeError, ValueError, OverflowError) as error:
            if "optimized out" in str(error):
                return session.variable(name, line, "optimised_out")
            return session.variable(name, line, "unreadable", text=str(error))

    def backtrace(self):
        frames = []
        frame = gdb.newest_frame()
        while frame is not None and len(frames) < 256:
            # Only what has debug information is a function of the user.
            where = frame.find_sal()
            if frame.function() is not None and where.symtab is not None:
                frames.append({"function": frame.name(), "pc": (frame.pc() - self.bias) & session.WORD, "line": where.line})
            frame = frame.older()
        return frames


def shown(symbol):
    """Variables and parameters; for gdb one that has a constant value (DW_AT_const_value) is neither."""
    if symbol.is_variable or symbol.is_argument:
        return True
    kind = symbol.type
    enumerator = kind is not None and kind.code == gdb.TYPE_CODE_ENUM and symbol.name in [one.name for one in kind.fields()]
    return symbol.is_constant and not enumerator


def known(value, word):
    """Kind, text and bits of a value that gdb can read; an exception if it cannot."""
    kind = value.type.strip_typedefs()
    size = kind.sizeof
    if kind.code in INTEGERS and size <= 8:
        return "integer", str(int(value)), 8 * size
    if kind.code == gdb.TYPE_CODE_PTR:
        return "pointer", "%x" % (int(value) & (2 ** (8 * word) - 1)), 8 * size
    if kind.code == gdb.TYPE_CODE_FLT and size in (4, 8):
        return "bytes", struct.pack("<f" if size == 4 else "<d", float(value)).hex(), 8 * size
    if size > LARGEST:
        raise ValueError("%d bytes are more than are shown" % size)
    value.fetch_lazy()
    if value.address is None:
        raise ValueError("a %s that is not in memory" % value.type)
    return "bytes", bytes(gdb.selected_inferior().read_memory(int(value.address), size)).hex(), 8 * size


def run(command):
    return gdb.execute(command, False, True)


def quote(word):
    return "'" + word.replace("'", "'\\''") + "'"


session.serve(Gdb(), os.environ["METALOC_SESSION"])
