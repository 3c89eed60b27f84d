# lldb's half of session.py, for the Python inside lldb 19.
import os
import sys

import lldb

sys.path.insert(0, os.environ["METALOC_SESSION"])
import session

SETTINGS = [
    # libc6-dbg would make it step into libc.
    "symbols.enable-external-lookup false",
    "target.skip-prologue false",
    "target.inline-breakpoint-strategy always",
    "stop-disassembly-display never",
    "stop-line-count-before 0",
    "stop-line-count-after 0",
]
LARGEST = 4096


class Lldb:
    name = "lldb"

    def __init__(self, debugger):
        self.debugger = debugger
        self.breakpoints = {}
        self.ignored = {}
        self.target = None
        self.process = None
        self.signal = None
        debugger.SetAsync(False)
        for setting in SETTINGS:
            debugger.HandleCommand("settings set " + setting)

    def version(self):
        return self.debugger.GetVersionString()

    def start(self, program, args, folder):
        error = lldb.SBError()
        self.target = self.debugger.CreateTarget(program, None, None, False, error)
        if error.Fail():
            raise session.Refused(error.GetCString())
        info = lldb.SBLaunchInfo(args)
        info.SetWorkingDirectory(folder)
        info.SetLaunchFlags(lldb.eLaunchFlagStopAtEntry | lldb.eLaunchFlagDisableASLR)
        info.AddOpenFileAction(0, os.devnull, True, False)
        info.AddOpenFileAction(1, os.devnull, False, True)
        info.AddOpenFileAction(2, os.devnull, False, True)
        self.process = self.target.Launch(info, error)
        if error.Fail():
            raise session.Refused(error.GetCString())
        # Somebody who halts all processes for a while does not mean this one.
        signals = self.process.GetUnixSignals()
        for name in ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT"):
            number = signals.GetSignalNumberFromName(name)
            signals.SetShouldStop(number, False)
            signals.SetShouldNotify(number, False)
            signals.SetShouldSuppress(number, True)

    def alive(self):
        return self.process.GetState() == lldb.eStateStopped

    def pid(self):
        return self.process.GetProcessID()

    def break_at(self, address):
        if address not in self.breakpoints:
            self.breakpoints[address] = self.target.BreakpointCreateByAddress(address)

    def break_line(self, file, line):
        breakpoint = self.target.BreakpointCreateByLocation(file, line)
        places = [location.GetLoadAddress() for location in breakpoint.locations]
        for place in places:
            self.breakpoints.setdefault(place, breakpoint)
        return places

    def remove(self, address):
        breakpoint = self.breakpoints.pop(address, None)
        if breakpoint is not None and all(breakpoint.GetID() != one.GetID() for one in self.breakpoints.values()):
            self.target.BreakpointDelete(breakpoint.GetID())

    def ignore(self, address, times):
        self.breakpoints[address].SetIgnoreCount(times)
        self.ignored[address] = self.breakpoints[address].GetHitCount()

    def passed(self, address):
        self.breakpoints[address].SetIgnoreCount(0)
        return self.breakpoints[address].GetHitCount() - self.ignored.pop(address)

    def resume(self):
        return self.moved(self.process.Continue())

    def count(self, addresses):
        counters = [self.target.BreakpointCreateByAddress(address) for address in addresses]
        for counter in counters:
            counter.SetIgnoreCount(2**31 - 1)
        how = self.resume()
        if "why" in how:
            raise session.Refused("the program stopped before its end")
        return [counter.GetHitCount() for counter in counters]

    def step_instruction(self):
        error = lldb.SBError()
        self.thread().StepInstruction(False, error)
        return self.moved(error)

    def step_line(self):
        self.thread().StepInto()
        # Steps end in libraries as well; those are not the user's.
        for _ in range(64):
            if self.process.GetState() != lldb.eStateStopped or self.own(self.thread().GetFrameAtIndex(0)):
                break
            if self.thread().GetStopReason() != lldb.eStopReasonPlanComplete:
                break
            if self.thread().GetNumFrames() < 2:
                return self.resume()
            self.thread().StepOut()
        return self.moved(lldb.SBError())

    def own(self, frame):
        return frame.GetModule().GetFileSpec() == self.target.GetExecutable()

    def moved(self, error):
        if error.Fail():
            raise session.Refused(error.GetCString())
        state = self.process.GetState()
        if state == lldb.eStateExited:
            status = self.process.GetExitStatus()
            # lldb gives the number of a deadly signal as if it were a status; it stopped at that signal before.
            killed = status != 0 and status == self.signal
            return {"answer": "killed", "signal": status} if killed else {"answer": "exited", "code": status}
        if state != lldb.eStateStopped:
            raise session.Refused("the program is %s" % lldb.SBDebugger.StateAsCString(state))
        self.select()
        reason = self.thread().GetStopReason()
        self.signal = None
        if reason == lldb.eStopReasonBreakpoint:
            return {"why": "breakpoint"}
        if reason == lldb.eStopReasonSignal:
            self.signal = self.thread().GetStopReasonDataAtIndex(0)
            return {"why": "signal", "signal": self.process.GetUnixSignals().GetSignalAsCString(self.signal)}
        if reason == lldb.eStopReasonException:
            return {"why": "signal", "signal": self.thread().GetStopDescription(64)}
        return {"why": "step"}

    def select(self):
        for thread in self.process:
            if thread.GetStopReason() not in (lldb.eStopReasonNone, lldb.eStopReasonInvalid):
                self.process.SetSelectedThread(thread)
                return

    def thread(self):
        return self.process.GetSelectedThread()

    def place(self):
        frame = self.thread().GetFrameAtIndex(0)
        return frame.GetPC(), frame.GetLineEntry().GetLine(), frame.GetFunctionName()

    def memory(self, address, length):
        error = lldb.SBError()
        found = self.process.ReadMemory(address, length, error)
        if error.Fail():
            raise session.Refused(error.GetCString())
        return found

    def variables(self):
        frame = self.thread().GetFrameAtIndex(0)
        found, seen = [], {}
        # Blocks come from the outside in: the last of equal names is the one in sight.
        for value in frame.GetVariables(True, True, True, True):
            if value.GetValueType() == lldb.eValueTypeVariableGlobal:
                continue
            place = seen.setdefault(value.GetName(), len(found))
            if place == len(found):
                found.append(None)
            found[place] = self.variable(value)
        return found

    def variable(self, value):
        name, line = value.GetName(), value.GetDeclaration().GetLine()
        error = value.GetError()
        data = value.GetData()
        if error.Fail():
            text = error.GetCString() or ""
            if "not available" in text or "optimized out" in text:
                return session.variable(name, line, "optimised_out")
            return session.variable(name, line, "unreadable", text=text)
        size = value.GetByteSize()
        if size > LARGEST:
            return session.variable(name, line, "unreadable", text="%d bytes are more than are shown" % size)
        failed = lldb.SBError()
        content = data.ReadRawData(failed, 0, size) if size else b""
        if failed.Fail() or len(content) != size:
            return session.variable(name, line, "unreadable", text=failed.GetCString() or "no bytes")
        flags = value.GetType().GetCanonicalType().GetTypeFlags()
        if flags & lldb.eTypeIsPointer:
            text = "%x" % int.from_bytes(content, "little")
            return session.variable(name, line, "known", "pointer", text, 8 * size)
        scalar = lldb.eTypeIsInteger | lldb.eTypeIsEnumeration
        if flags & scalar and not flags & lldb.eTypeIsFloat and size <= 8:
            signed = bool(flags & lldb.eTypeIsSigned)
            text = str(int.from_bytes(content, "little", signed=signed))
            return session.variable(name, line, "known", "integer", text, 8 * size)
        return session.variable(name, line, "known", "bytes", content.hex(), 8 * size)

    def backtrace(self):
        frames = []
        for frame in self.thread():
            if self.own(frame) and frame.GetLineEntry().IsValid() and len(frames) < 256:
                line = frame.GetLineEntry().GetLine()
                frames.append({"function": frame.GetFunctionName(), "pc": (frame.GetPC() - self.bias) & session.WORD, "line": line})
        return frames


def __lldb_init_module(debugger, _):
    session.serve(Lldb(debugger), os.environ["METALOC_SESSION"])
