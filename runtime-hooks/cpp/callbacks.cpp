// Before and after every pass run of the new pass manager.
#include "shim.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

using namespace llvm;

// Any compares the addresses of these. The linker's version script makes our own copies private, so
// declare them without a definition: the ones of the LLVM that we are loaded into are meant.
namespace llvm {
#if LLVM_VERSION_MAJOR <= 15
#define ANY_ID const char
#else
#define ANY_ID char
#endif
template <> ANY_ID Any::TypeId<const Module *>::Id;
template <> ANY_ID Any::TypeId<const Function *>::Id;
template <> ANY_ID Any::TypeId<const Loop *>::Id;
template <> ANY_ID Any::TypeId<const LazyCallGraph::SCC *>::Id;
} // namespace llvm

namespace {

template <class T> const T *unit(const Any &IR) {
#if LLVM_VERSION_MAJOR <= 16
  return any_isa<const T *>(IR) ? any_cast<const T *>(IR) : nullptr;
#else
  const T *const *P = any_cast<const T *>(&IR);
  return P ? *P : nullptr;
#endif
}

void begin(StringRef Class, StringRef Pass, const Any &IR, const void *Frame) {
  SmallVector<const void *, 4> Functions;
  SmallVector<const void *, 16> Blocks;
  const void *M = nullptr;
  if (const auto *F = unit<Function>(IR)) {
    Functions.push_back(F);
    M = F->getParent();
  } else if (const auto *L = unit<Loop>(IR)) {
    // Loop passes edit outside of their loop: the function is the unit.
    const Function *F = L->getHeader()->getParent();
    Functions.push_back(F);
    Blocks.append(L->block_begin(), L->block_end());
    for (const BasicBlock *Preheader : predecessors(L->getHeader())) {
      if (L->contains(Preheader))
        continue;
      Blocks.push_back(Preheader);
      // LoopInterchange gives the preheader to the other loop and sends what came there elsewhere.
      Blocks.append(pred_begin(Preheader), pred_end(Preheader));
    }
    M = F->getParent();
  } else if (const auto *C = unit<LazyCallGraph::SCC>(IR)) {
    for (const LazyCallGraph::Node &N : *C) {
      // A dead node of a call graph that is being updated has no function any more.
      if (N.isDead())
        continue;
      const Function &F = const_cast<LazyCallGraph::Node &>(N).getFunction();
      if (!F.isDeclaration())
        Functions.push_back(&F);
      M = F.getParent();
    }
  } else if (const auto *Mod = unit<Module>(IR)) {
    M = Mod;
  }
  MetalocUnit Unit = {M, Functions.data(), Functions.size(), Blocks.data(), Blocks.size()};
  metaloc_on_pass_begin({Class.data(), Class.size()}, {Pass.data(), Pass.size()}, &Unit, Frame);
}

void end(const PreservedAnalyses &PA) {
  metaloc_on_pass_end(PA.areAllPreserved(), PA.allAnalysesInSetPreserved<CFGAnalyses>());
}

} // namespace

uint32_t metaloc_plugin_api_version() { return LLVM_PLUGIN_API_VERSION; }

void metaloc_register_callbacks(void *Builder) {
  PassInstrumentationCallbacks *PIC = static_cast<PassBuilder *>(Builder)->getPassInstrumentationCallbacks();
  if (!PIC)
    return;
  PIC->registerBeforeNonSkippedPassCallback([PIC](StringRef Class, Any IR) {
    begin(Class, PIC->getPassNameForClassName(Class), IR, __builtin_frame_address(0));
  });
  PIC->registerAfterPassCallback([](StringRef, Any, const PreservedAnalyses &PA) { end(PA); });
  // The unit is gone (a deleted loop, a deleted function): the record keeps what the run began with.
  PIC->registerAfterPassInvalidatedCallback([](StringRef, const PreservedAnalyses &PA) { end(PA); });
}
