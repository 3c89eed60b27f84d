// Runs a pipeline over a module many times in one process, on several threads, each module in a context of
// its own: what a linker does with in-process link-time optimisation. Prints the resulting module once, and
// fails if any run gave another.
//
//   threads PLUGIN PIPELINE INPUT.ll THREADS MODULES-PER-THREAD
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <thread>
#include <vector>

using namespace llvm;

static std::string optimise(PassPlugin &Plugin, const char *Pipeline, const char *Input) {
  LLVMContext Context;
  SMDiagnostic Error;
  std::unique_ptr<Module> M = parseIRFile(Input, Error, Context);
  if (!M)
    return "cannot parse";
  PassInstrumentationCallbacks PIC;
  PassBuilder PB(nullptr, PipelineTuningOptions(), {}, &PIC);
  Plugin.registerPassBuilderCallbacks(PB);
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  FAM.registerPass([&] { return PassInstrumentationAnalysis(&PIC); });
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager MPM;
  if (PB.parsePassPipeline(MPM, Pipeline))
    return "cannot parse the pipeline";
  MPM.run(*M, MAM);
  std::string Text;
  raw_string_ostream OS(Text);
  M->print(OS, nullptr);
  return Text;
}

int main(int, char **argv) {
  auto Plugin = PassPlugin::Load(argv[1]);
  if (!Plugin) {
    errs() << toString(Plugin.takeError()) << "\n";
    return 2;
  }
  size_t Threads = std::stoul(argv[4]), Each = std::stoul(argv[5]);
  std::vector<std::string> Results(Threads * Each);
  std::vector<std::thread> Running;
  for (size_t T = 0; T != Threads; ++T)
    Running.emplace_back([&, T] {
      for (size_t I = 0; I != Each; ++I)
        Results[T * Each + I] = optimise(*Plugin, argv[2], argv[3]);
    });
  for (std::thread &T : Running)
    T.join();
  for (const std::string &Result : Results)
    if (Result != Results.front()) {
      errs() << "two runs differ\n";
      return 1;
    }
  outs() << Results.front();
  return 0;
}
