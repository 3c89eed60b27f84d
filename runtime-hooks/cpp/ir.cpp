// Questions about IR objects. Nothing here changes anything.
#include "shim.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

MetalocString string(StringRef S) { return {S.data(), S.size()}; }

template <class T> const T &as(const void *P) { return *static_cast<const T *>(P); }

enum : uint8_t { Terminator = 1, Phi = 2, Call = 4, Intrinsic = 8, Memory = 16, NoCode = 32 };

uint8_t flags_of(const Instruction &I) {
  uint8_t Flags = I.isTerminator() ? Terminator : 0;
  switch (I.getOpcode()) {
  case Instruction::PHI:
    return Flags | Phi;
  case Instruction::Load:
  case Instruction::Store:
  case Instruction::AtomicCmpXchg:
  case Instruction::AtomicRMW:
    return Flags | Memory;
  case Instruction::Call:
  case Instruction::Invoke:
  case Instruction::CallBr:
    if (const auto *II = dyn_cast<IntrinsicInst>(&I))
      return Flags | Intrinsic | (II->isAssumeLikeIntrinsic() ? NoCode : 0);
    return Flags | Call;
  default:
    return Flags;
  }
}

enum : uint8_t { WrittenInst = 1, WrittenArgument = 2, WrittenGlobal = 3 };

// FNV-1a: it must be the same for the whole run of the process, and good enough for a few names.
uint64_t hash(StringRef Text) {
  uint64_t H = 0xcbf29ce484222325;
  for (unsigned char C : Text)
    H = (H ^ C) * 0x100000001b3;
  return H;
}

// What a pointer points into: computations of addresses are looked through, but not for ever.
const Value *object_of(const Value *V) {
  for (int Step = 0; V && Step != 6; ++Step) {
    const auto *Op = dyn_cast<Operator>(V);
    if (!Op || (Op->getOpcode() != Instruction::GetElementPtr && Op->getOpcode() != Instruction::BitCast &&
                Op->getOpcode() != Instruction::AddrSpaceCast))
      break;
    V = Op->getOperand(0);
  }
  return V;
}

// Null for what is no store and no memory intrinsic, and if its operands are gone.
const Value *written_object(const Instruction &I) {
  if (const auto *S = dyn_cast<StoreInst>(&I))
    return object_of(S->getOperandUse(1).get());
  if (I.getOpcode() != Instruction::Call || !I.getOperandUse(I.getNumOperands() - 1).get())
    return nullptr;
  const auto *M = dyn_cast<AnyMemIntrinsic>(&I);
  return M ? object_of(M->getOperandUse(0).get()) : nullptr;
}

size_t ListOffset = 0;

size_t copy(StringRef Text, char *Out, size_t Capacity) {
  size_t N = std::min(Text.size(), Capacity);
  std::copy_n(Text.data(), N, Out);
  return N;
}

} // namespace

MetalocString metaloc_llvm_version() { return string(LLVM_VERSION_STRING); }

MetalocString metaloc_opcode_name(uint32_t Opcode) { return string(Instruction::getOpcodeName(Opcode)); }

size_t metaloc_location_offset() {
  // getDebugLoc returns a reference to the member; any address will do to compute its offset.
  static const size_t Offset = [] {
    const auto *I = reinterpret_cast<const Instruction *>(uintptr_t(0x10000));
    return uintptr_t(&I->getDebugLoc()) - uintptr_t(I);
  }();
  return Offset;
}

size_t metaloc_node_offset() {
  // As above: an iterator to an instruction is the address of its node.
  const auto *I = reinterpret_cast<const Instruction *>(uintptr_t(0x10000));
  return uintptr_t(I->getIterator().getNodePtr()) - uintptr_t(I);
}

size_t metaloc_list_offset() { return ListOffset; }

size_t metaloc_module_functions(const void *M, const void **Out, size_t Capacity) {
  size_t N = 0;
  for (const Function &F : as<Module>(M)) {
    if (F.isDeclaration())
      continue;
    if (N < Capacity)
      Out[N] = &F;
    ++N;
  }
  return N;
}

MetalocString metaloc_module_identifier(const void *M) { return string(as<Module>(M).getModuleIdentifier()); }

const void *metaloc_function_module(const void *F) { return as<Function>(F).getParent(); }

const void *metaloc_function_context(const void *F) { return &as<Function>(F).getContext(); }

MetalocString metaloc_function_name(const void *F) { return string(as<Function>(F).getName()); }

size_t metaloc_function_arguments(const void *F, const void **Out, size_t Capacity) {
  size_t N = 0;
  for (const Argument &A : as<Function>(F).args()) {
    if (N < Capacity)
      Out[N] = &A;
    ++N;
  }
  return N;
}

size_t metaloc_keep_unnamed(const void **Values, size_t Count) {
  size_t N = 0;
  for (size_t I = 0; I != Count; ++I) {
    const Value &V = as<Value>(Values[I]);
    if (!V.hasName() && !V.getType()->isVoidTy())
      Values[N++] = &V;
  }
  return N;
}

size_t metaloc_function_blocks(const void *F, const void **Out, size_t Capacity) {
  size_t N = 0;
  for (const BasicBlock &BB : as<Function>(F)) {
    // The list is private, but its end is the sentinel that it begins with.
    ListOffset = uintptr_t(BB.end().getNodePtr()) - uintptr_t(&BB);
    if (N < Capacity)
      Out[N] = &BB;
    ++N;
  }
  return N;
}

const void *metaloc_function_entry(const void *F) {
  return as<Function>(F).empty() ? nullptr : &as<Function>(F).front();
}

const void *metaloc_block_function(const void *BB) { return as<BasicBlock>(BB).getParent(); }

size_t metaloc_block_insts(const void *BB, MetalocInst *Out, size_t Capacity) {
  size_t N = 0;
  for (const Instruction &I : as<BasicBlock>(BB)) {
    if (isa<DbgInfoIntrinsic>(I))
      continue;
    if (N < Capacity)
      Out[N] = {&I, I.getDebugLoc().get(), uint8_t(I.getOpcode()), flags_of(I)};
    ++N;
  }
  return N;
}

size_t metaloc_block_successors(const void *BB, const void **Out, size_t Capacity) {
  // A block that is being built may have no terminator yet.
  const Instruction *T = as<BasicBlock>(BB).getTerminator();
  if (!T)
    return 0;
  unsigned N = T->getNumSuccessors();
  for (unsigned I = 0; I != N && I < Capacity; ++I)
    Out[I] = T->getSuccessor(I);
  return N;
}

MetalocEdges metaloc_block_edges(const void *BB) {
  MetalocEdges Edges = {as<BasicBlock>(BB).getTerminator(), {nullptr, nullptr}, 0};
  if (Edges.terminator)
    Edges.count = metaloc_block_successors(BB, Edges.successors, 2);
  return Edges;
}

size_t metaloc_changed_edges(const MetalocEdges *Edges, size_t Count, uint32_t *Out) {
  size_t N = 0;
  for (size_t I = 0; I != Count; ++I) {
    const MetalocEdges &E = Edges[I];
    if (E.count == 0)
      continue; // a return, or nothing: a terminator cannot gain successors
    bool Same = false;
    if (const auto *Branch = dyn_cast<BranchInst>(static_cast<const Instruction *>(E.terminator))) {
      Same = Branch->getNumSuccessors() == E.count && Branch->getSuccessor(0) == E.successors[0] &&
             (E.count == 1 || Branch->getSuccessor(1) == E.successors[1]);
    }
    if (!Same)
      Out[N++] = I;
  }
  return N;
}

const void *metaloc_inst_block(const void *I) { return as<Instruction>(I).getParent(); }

MetalocUses metaloc_inst_uses(const void *P) {
  const auto &I = as<Instruction>(P);
  MetalocUses Uses = {};
  for (const Use &U : I.operands()) {
    if (Uses.count == std::size(Uses.operands))
      break;
    // References are dropped before a block is deleted.
    const Value *V = U.get();
    Uses.operands[Uses.count++] = V && isa<Instruction>(V) ? cast<Instruction>(V) : nullptr;
  }
  const Value *Object = written_object(I);
  if (!Object)
    return Uses;
  if (const auto *Inst = dyn_cast<Instruction>(Object)) {
    Uses.written = WrittenInst;
    Uses.object = reinterpret_cast<uintptr_t>(Inst);
  } else if (const auto *A = dyn_cast<Argument>(Object)) {
    Uses.written = WrittenArgument;
    Uses.object = A->getArgNo();
  } else if (isa<GlobalVariable>(Object) && Object->hasName()) {
    // By name: an address may be used again, and there is no hook on the destructor of a global.
    Uses.written = WrittenGlobal;
    Uses.object = hash(Object->getName());
  }
  return Uses;
}

size_t metaloc_inst_users(const void *I, const void **Out, size_t Capacity) {
  size_t N = 0;
  for (const User *U : as<Instruction>(I).users()) {
    if (N == Capacity)
      return Capacity + 1;
    if (const auto *User = dyn_cast<Instruction>(U))
      Out[N++] = User;
  }
  return N;
}

bool metaloc_inst_is_marker(const void *P) {
  const auto &I = as<Instruction>(P);
  if (const auto *S = dyn_cast<StoreInst>(&I))
    return isa<ConstantPointerNull>(S->getPointerOperand()) || isa<UndefValue>(S->getPointerOperand());
  return !I.use_empty() && !I.mayHaveSideEffects() && all_of(I.users(), [](const User *U) {
    const auto *II = dyn_cast<IntrinsicInst>(U);
    return II && II->isAssumeLikeIntrinsic();
  });
}

// The condition of Verifier::visitCallBase.
bool metaloc_call_needs_location(const void *P) {
  const auto *Call = dyn_cast<CallBase>(&as<Instruction>(P));
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee && Call->getFunction()->getSubprogram() && Callee->getSubprogram() &&
         !Callee->isInterposable() && !Callee->isDeclaration();
}

// The condition of Verifier::visitFunction.
bool metaloc_inst_has_foreign_scope(const void *P) {
  const auto &I = as<Instruction>(P);
  const DILocation *Location = I.getDebugLoc().get();
  const DISubprogram *Own = I.getFunction()->getSubprogram();
  if (!Location || !Own)
    return false;
  const DILocalScope *Scope = Location->getInlinedAtScope();
  return Scope && Scope->getSubprogram() != Own;
}

bool metaloc_inst_is_described(const void *P) { return as<Instruction>(P).getFunction()->getSubprogram() != nullptr; }

const void *metaloc_inst_next(const void *I) {
  const Instruction *Next = as<Instruction>(I).getNextNode();
  while (Next && isa<DbgInfoIntrinsic>(Next))
    Next = Next->getNextNode();
  return Next;
}

const void *metaloc_inst_location(const void *I) { return as<Instruction>(I).getDebugLoc().get(); }

size_t metaloc_named_inst(const void *I, char *Out, size_t Capacity) {
  const auto &Inst = as<Instruction>(I);
  if (!Inst.hasName())
    return 0;
  SmallString<64> Text;
  raw_svector_ostream OS(Text);
  Inst.printAsOperand(OS, /*PrintType=*/false);
  return copy(Text, Out, Capacity);
}

size_t metaloc_inst_print(const void *I, char *Out, size_t Capacity) {
  SmallString<256> Text;
  raw_svector_ostream OS(Text);
  as<Instruction>(I).print(OS);
  return copy(Text, Out, Capacity);
}

MetalocString metaloc_value_name(const void *V) { return string(as<Value>(V).getName()); }

MetalocLocation metaloc_location(const void *L) {
  const auto &Loc = as<DILocation>(L);
  // A discriminator is a lexical-block-file scope around the real one, with the same file. One with
  // another file says that the code came from an #include: that is a different place.
  const DILocalScope *Scope = Loc.getScope();
  while (const auto *File = dyn_cast_or_null<DILexicalBlockFile>(Scope)) {
    if (File->getFile() != File->getScope()->getFile())
      break;
    Scope = File->getScope();
  }
  return {Loc.getLine(), Loc.getColumn(), Scope, Loc.getInlinedAt()};
}

MetalocScope metaloc_scope(const void *S) {
  const auto &Scope = as<DILocalScope>(S);
  const DISubprogram *Function = Scope.getSubprogram();
  const void *Parent = nullptr;
  if (const auto *Block = dyn_cast<DILexicalBlockBase>(&Scope))
    Parent = Block->getScope();
  return {string(Scope.getFilename()), string(Function ? Function->getName() : ""), Parent};
}

void metaloc_on_crash(void (*Handler)(void *)) { sys::AddSignalHandler(Handler, nullptr); }
