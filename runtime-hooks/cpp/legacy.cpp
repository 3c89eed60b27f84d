// Before and after every pass run of the legacy pass managers, which have no instrumentation: `opt -loop-reduce`
// and the code generation of clang go through them.
//
// All four managers (module, call graph, function, loop; regions too) call initializeAnalysisImpl right before a
// pass and removeDeadPasses after it, and removeNotPreservedAnalysis in between if it changed something. Which
// function is being worked on is known from the managers' own runOnFunction.
#include "shim.h"

#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/PassInfo.h"

using namespace llvm;

namespace {

// The pass runs and functions that are under way on this thread.
thread_local SmallVector<std::pair<Pass *, bool>, 8> Running; // and whether it changed something
thread_local SmallVector<Function *, 4> Functions;
thread_local SmallVector<Module *, 2> Modules;

void begin(Pass *P, const void *Frame) {
  // Managers are passes too, and run others; immutable passes hold data.
  if (P->getAsPMDataManager() || P->getAsImmutablePass())
    return;
  const void *F = nullptr;
  const void *M = nullptr;
  switch (P->getPassKind()) {
  case PT_Module:
    M = Modules.empty() ? nullptr : Modules.back();
    break;
  case PT_CallGraphSCC:
    break; // only what it is seen to change
  default:
    F = Functions.empty() ? nullptr : Functions.back();
  }
  const PassInfo *Info = Pass::lookupPassInfo(P->getPassID());
  StringRef Name = Info ? Info->getPassArgument() : P->getPassName();
  Running.push_back({P, false});
  MetalocUnit Unit = {M, &F, F ? size_t(1) : size_t(0), nullptr, 0};
  metaloc_on_pass_begin({Name.data(), Name.size()}, {Name.data(), Name.size()}, &Unit, Frame);
}

void end(Pass *P) {
  if (Running.empty() || Running.back().first != P)
    return;
  bool Changed = Running.back().second;
  Running.pop_back();
  metaloc_on_pass_end(/*all_preserved=*/!Changed, /*cfg_preserved=*/!Changed);
}

void (*initialize)(PMDataManager *, Pass *);
void on_initialize(PMDataManager *Manager, Pass *P) {
  initialize(Manager, P);
  begin(P, __builtin_frame_address(0));
}

void (*not_preserved)(PMDataManager *, Pass *);
void on_not_preserved(PMDataManager *Manager, Pass *P) {
  if (!Running.empty() && Running.back().first == P)
    Running.back().second = true;
  not_preserved(Manager, P);
}

void (*dead_passes)(PMDataManager *, Pass *, StringRef, PassDebuggingString);
void on_dead_passes(PMDataManager *Manager, Pass *P, StringRef Message, PassDebuggingString Kind) {
  end(P);
  dead_passes(Manager, P, Message, Kind);
}

template <int Slot> struct OnFunction {
  static bool (*original)(void *, Function &);
  static bool entry(void *Manager, Function &F) {
    Functions.push_back(&F);
    bool Changed = original(Manager, F);
    Functions.pop_back();
    return Changed;
  }
};
template <int Slot> bool (*OnFunction<Slot>::original)(void *, Function &);

bool (*on_module)(void *, Module &);
bool on_module_entry(void *Manager, Module &M) {
  Modules.push_back(&M);
  metaloc_on_module(&M);
  bool Changed = on_module(Manager, M);
  Modules.pop_back();
  return Changed;
}

template <class Entry, class Original> MetalocHook row(const char *Symbol, Entry *E, Original **O) {
  return {Symbol, reinterpret_cast<void *>(E), reinterpret_cast<void **>(O)};
}

} // namespace

const MetalocHook *metaloc_legacy_hooks(size_t *count) {
  // Local, because a preloaded library is asked before its static constructors have run.
  static const MetalocHook Hooks[] = {
      row("_ZN4llvm13PMDataManager22initializeAnalysisImplEPNS_4PassE", on_initialize, &initialize),
      row("_ZN4llvm13PMDataManager26removeNotPreservedAnalysisEPNS_4PassE", on_not_preserved, &not_preserved),
      row("_ZN4llvm13PMDataManager16removeDeadPassesEPNS_4PassENS_9StringRefENS_19PassDebuggingStringE",
          on_dead_passes, &dead_passes),
      row("_ZN4llvm13FPPassManager13runOnFunctionERNS_8FunctionE", OnFunction<0>::entry, &OnFunction<0>::original),
      row("_ZN4llvm13LPPassManager13runOnFunctionERNS_8FunctionE", OnFunction<1>::entry, &OnFunction<1>::original),
      row("_ZN4llvm13RGPassManager13runOnFunctionERNS_8FunctionE", OnFunction<2>::entry, &OnFunction<2>::original),
      row("_ZN4llvm6legacy15PassManagerImpl3runERNS_6ModuleE", on_module_entry, &on_module),
  };
  *count = sizeof(Hooks) / sizeof(Hooks[0]);
  return Hooks;
}
