# The debugger's side of a session: reads one request per line from a socket, answers each with one line.
#
# What the two debuggers share: the loop, and what needs no debugger. The messages are defined in protocol.rs;
# what differs between debuggers is a class with the methods that `answer` calls, in gdb_side.py and lldb_side.py.
import hashlib
import json
import os
import socket
import struct

AT_ENTRY = 9
WORD = 2**64 - 1


class Refused(Exception):
    """Said to the other side; the session goes on."""


def serve(side, folder):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(os.path.join(folder, "socket"))
    with connection.makefile("rwb") as stream:
        say(stream, {"answer": "hello", "debugger": side.name, "version": side.version()})
        while True:
            line = stream.readline()
            if not line:
                return
            try:
                reply = answer(side, json.loads(line))
            except Refused as refused:
                reply = {"answer": "failed", "reason": str(refused)}
            except Exception as error:
                reply = {"answer": "failed", "reason": "%s: %s" % (type(error).__name__, error)}
            say(stream, reply)


def say(stream, reply):
    stream.write(json.dumps(reply, separators=(",", ":")).encode() + b"\n")
    stream.flush()


def answer(side, request):
    do = request["do"]
    if do == "start":
        pin(request["cpu"])
        side.word = request["word_bytes"]
        side.ranges = []
        side.memory_file = None
        side.start(request["program"], request["args"], request["folder"])
        side.bias = auxiliary(side.pid(), side.word, AT_ENTRY) - request["entry"]
        # It can be negative: the other side counts modulo 2^64.
        return {"answer": "started", "bias": side.bias & WORD, "process": side.pid()}
    if do == "break":
        for address in request["addresses"]:
            side.break_at(address + side.bias)
        return {"answer": "done"}
    if do == "break_line":
        places = side.break_line(request["file"], request["line"])
        return {"answer": "broken", "addresses": [(place - side.bias) & WORD for place in places]}
    if do == "remove":
        for address in request["addresses"]:
            side.remove(address + side.bias)
        return {"answer": "done"}
    if do == "ignore":
        for address in request["addresses"]:
            side.ignore(address + side.bias, request["times"])
        return {"answer": "done"}
    if do == "passed":
        hits = [side.passed(address + side.bias) for address in request["addresses"]]
        return {"answer": "counted", "hits": hits}
    if do == "watch":
        side.ranges = request["ranges"]
        return {"answer": "done"}
    if do == "resume":
        return stopped(side, side.resume(), request["want"])
    if do == "step":
        by_line = request["by"] == "line"
        return stopped(side, side.step_line() if by_line else side.step_instruction(), request["want"])
    if do == "look":
        return stopped(side, {"why": "look"}, request["want"])
    if do == "memory":
        found = side.memory(request["address"] + side.bias, request["length"])
        return {"answer": "memory", "bytes": bytes(found).hex()}
    if do == "backtrace":
        return {"answer": "frames", "frames": side.backtrace()}
    if do == "count":
        hits = side.count([address + side.bias for address in request["addresses"]])
        return {"answer": "counted", "hits": hits}
    raise Refused("no such request: %s" % do)


def stopped(side, how, want):
    """`how` is what a debugger says of the end of a motion: an end of the program, or why it stopped."""
    if "why" not in how:
        return how
    if not side.alive():
        raise Refused("the program has ended")
    pc, line, function = side.place()
    reply = {"answer": "stopped", "why": how["why"], "pc": (pc - side.bias) & WORD}
    if "signal" in how:
        reply["signal"] = how["signal"]
    if line:
        reply["line"] = line
    if function:
        reply["function"] = function
    if want["variables"]:
        reply["variables"] = side.variables()
    if want["memory"]:
        reply["memory"] = [digest(side, start, length) for start, length in side.ranges]
    return reply


def digest(side, start, length):
    found = content(side, (start + side.bias) & WORD, length)
    return hashlib.blake2b(bytes(found), digest_size=8).hexdigest()


def content(side, address, length):
    """Memory as the kernel has it: through a debugger a large array takes longer than all else at a stop."""
    try:
        if side.memory_file is None:
            side.memory_file = os.open("/proc/%d/mem" % side.pid(), os.O_RDONLY)
        found = os.pread(side.memory_file, length, address)
        if len(found) == length:
            return found
    except OSError:
        pass
    return side.memory(address, length)


def variable(name, line, state, kind=None, text=None, bits=None):
    reply = {"name": name, "line": line, "state": state}
    if kind:
        reply["kind"] = kind
    if text is not None:
        reply["text"] = text
    if bits:
        reply["bits"] = bits
    return reply


def auxiliary(pid, word, wanted):
    """An entry of the auxiliary vector: AT_ENTRY is where the program begins, wherever it was loaded."""
    with open("/proc/%d/auxv" % pid, "rb") as file:
        content = file.read()
    form = "<QQ" if word == 8 else "<II"
    for key, value in struct.iter_unpack(form, content[: len(content) // (2 * word) * (2 * word)]):
        if key == wanted:
            return value
    raise Refused("the program has no auxiliary vector")


def pin(hint):
    """Debugger and program on one core: switching between them is what a stop costs."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[hint % len(allowed)]})
