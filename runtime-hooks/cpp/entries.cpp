// The detour entries: one function per hooked API, with the signature that the API has in this LLVM
// version, and the table that names the symbols. Differences between versions are here and only here.
//
// Every entry calls the original exactly once, with the arguments unchanged, and touches no IR.
#include "shim.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;

#define FRAME __builtin_frame_address(0)

// What `src/address_table.rs` rests on: no two instructions begin in the same 64 bytes.
static_assert(sizeof(Instruction) >= 64, "instructions are smaller than a granule of the address table");
static_assert(alignof(Instruction) >= 8, "instructions begin at places that the address table cannot tell apart");

namespace {

using InstTraits = SymbolTableListTraits<Instruction
#if LLVM_VERSION_MAJOR >= 19
                                         ,
                                         ilist_iterator_bits<true>, ilist_parent<BasicBlock>
#endif
                                         >;
using BlockTraits = SymbolTableListTraits<BasicBlock>;

bool observing() { return metaloc_observing != 0; }

// --- create -------------------------------------------------------------------------------------

#if LLVM_VERSION_MAJOR <= 16
using CreateBefore = void(Instruction *, Type *, unsigned, Use *, unsigned, Instruction *);
using CreateAtEnd = void(Instruction *, Type *, unsigned, Use *, unsigned, BasicBlock *);
CreateBefore *create_before;
CreateAtEnd *create_at_end;
void on_create_before(Instruction *I, Type *Ty, unsigned Op, Use *Ops, unsigned N, Instruction *Before) {
  if (observing())
    metaloc_on_create(I, Op, FRAME);
  create_before(I, Ty, Op, Ops, N, Before);
}
void on_create_at_end(Instruction *I, Type *Ty, unsigned Op, Use *Ops, unsigned N, BasicBlock *End) {
  if (observing())
    metaloc_on_create(I, Op, FRAME);
  create_at_end(I, Ty, Op, Ops, N, End);
}
#elif LLVM_VERSION_MAJOR <= 19
using Create = void(Instruction *, Type *, unsigned, Use *, unsigned, InsertPosition);
Create *create;
void on_create(Instruction *I, Type *Ty, unsigned Op, Use *Ops, unsigned N, InsertPosition At) {
  if (observing())
    metaloc_on_create(I, Op, FRAME);
  create(I, Ty, Op, Ops, N, At);
}
#else
// User::AllocInfo is protected; it is one 32-bit word of bit fields and passed as such.
struct AllocInfoWord {
  uint32_t Bits;
};
using Create = void(Instruction *, Type *, unsigned, AllocInfoWord, InsertPosition);
Create *create;
void on_create(Instruction *I, Type *Ty, unsigned Op, AllocInfoWord Info, InsertPosition At) {
  if (observing())
    metaloc_on_create(I, Op, FRAME);
  create(I, Ty, Op, Info, At);
}
#endif

// --- clone, replace, erase ----------------------------------------------------------------------

Instruction *(*clone_)(const Instruction *);
Instruction *on_clone(const Instruction *I) {
  Instruction *New = clone_(I);
  if (observing())
    metaloc_on_clone(New, I, FRAME);
  return New;
}

const void *as_inst(const Value *V) { return isa<Instruction>(V) ? cast<Instruction>(V) : nullptr; }

void replaced(const Value *Old, const Value *New, bool All, const void *Frame) {
  if (observing() && Old != New)
    if (const void *I = as_inst(Old))
      metaloc_on_replace(I, as_inst(New), All, Frame);
}

void (*do_rauw)(Value *, Value *, int);
void on_rauw(Value *Old, Value *New, int Metadata) {
  replaced(Old, New, true, FRAME);
  do_rauw(Old, New, Metadata);
}

void (*outside_block)(Value *, Value *, BasicBlock *);
void on_outside_block(Value *Old, Value *New, BasicBlock *BB) {
  replaced(Old, New, false, FRAME);
  outside_block(Old, New, BB);
}

using UseFilter = function_ref<bool(Use &)>;
void (*uses_if)(Value *, Value *, UseFilter);
void on_uses_if(Value *Old, Value *New, UseFilter Filter) {
  replaced(Old, New, false, FRAME);
  uses_if(Old, New, Filter);
}

bool (*uses_of_with)(User *, Value *, Value *);
bool on_uses_of_with(User *U, Value *Old, Value *New) {
  replaced(Old, New, false, FRAME);
  return uses_of_with(U, Old, New);
}

// replaceDominatedUsesWith and its siblings: (Value *From, Value *To, up to four words), unsigned result.
// They write through Use::set, which is inline and cannot be seen.
using Dominated = unsigned(Value *, Value *, void *, void *, void *, void *);
template <int Slot> struct DominatedUses {
  static Dominated *original;
  static unsigned entry(Value *Old, Value *New, void *A, void *B, void *C, void *D) {
    replaced(Old, New, false, FRAME);
    return original(Old, New, A, B, C, D);
  }
};
template <int Slot> Dominated *DominatedUses<Slot>::original;

void (*erase_)(Instruction *);
void on_erase(Instruction *I) {
  metaloc_on_erase(I);
  erase_(I);
}

void (*take_name)(Value *, Value *);
void on_take_name(Value *New, Value *Old) {
  if (observing())
    if (const void *I = as_inst(Old))
      metaloc_on_take_name(I);
  take_name(New, Old);
}

// --- movement: lists of instructions and of blocks ------------------------------------------------

void (*inst_added)(InstTraits *, Instruction *);
void on_inst_added(InstTraits *List, Instruction *I) {
  inst_added(List, I);
  if (observing())
    metaloc_on_insert(I, FRAME);
}

// Ends in the entry above. What it adds is what the pass said: behind which instruction.
void put_behind(const Instruction *I, const Instruction *After) {
  if (observing())
    metaloc_on_insert_after(I, After);
}

void (*insert_after)(Instruction *, Instruction *);
void on_insert_after(Instruction *I, Instruction *After) {
  insert_after(I, After);
  put_behind(I, After);
}

#if LLVM_VERSION_MAJOR >= 22
void (*insert_after_iterator)(Instruction *, BasicBlock::iterator);
void on_insert_after_iterator(Instruction *I, BasicBlock::iterator After) {
  insert_after_iterator(I, After);
  put_behind(I, &*After);
}
#endif

void (*inst_removed)(InstTraits *, Instruction *);
void on_inst_removed(InstTraits *List, Instruction *I) {
  if (observing())
    metaloc_on_remove(I);
  inst_removed(List, I);
}

using InstIterator = BasicBlock::iterator;
void (*insts_moved)(InstTraits *, InstTraits *, InstIterator, InstIterator);
void on_insts_moved(InstTraits *To, InstTraits *From, InstIterator First, InstIterator Last) {
  if (!observing() || First == Last)
    return insts_moved(To, From, First, Last);
  SmallVector<const void *, 64> Moved;
  const BasicBlock *Origin = First->getParent();
  for (InstIterator I = First; I != Last; ++I)
    Moved.push_back(&*I);
  insts_moved(To, From, First, Last);
  metaloc_on_transfer(Moved.data(), Moved.size(), Origin, FRAME);
}

void (*block_added)(BlockTraits *, BasicBlock *);
void on_block_added(BlockTraits *List, BasicBlock *BB) {
  block_added(List, BB);
  metaloc_on_block_insert(BB);
}

void (*block_removed)(BlockTraits *, BasicBlock *);
void on_block_removed(BlockTraits *List, BasicBlock *BB) {
  metaloc_on_block_remove(BB);
  block_removed(List, BB);
}

using BlockIterator = Function::iterator;
void (*blocks_moved)(BlockTraits *, BlockTraits *, BlockIterator, BlockIterator);
void on_blocks_moved(BlockTraits *To, BlockTraits *From, BlockIterator First, BlockIterator Last) {
  SmallVector<BasicBlock *, 16> Moved;
  for (BlockIterator I = First; I != Last; ++I)
    Moved.push_back(&*I);
  for (BasicBlock *BB : Moved)
    metaloc_on_block_remove(BB);
  blocks_moved(To, From, First, Last);
  for (BasicBlock *BB : Moved)
    metaloc_on_block_insert(BB);
}

// In LLVM as built by GCC, BasicBlock.cpp has its own inlined copies of the list functions above. What they
// have in common is that a block learns of its new function here. `List` is the block's instruction list.
void (*block_parent)(InstTraits *, Function **, Function *);
void on_block_parent(InstTraits *List, Function **Parent, Function *New) {
  const void *BB = reinterpret_cast<const char *>(List) - metaloc_list_offset();
  if (metaloc_list_offset() && *Parent)
    metaloc_on_block_remove(BB);
  block_parent(List, Parent, New);
  if (metaloc_list_offset() && New)
    metaloc_on_block_insert(BB);
}

void (*block_erased)(BasicBlock *);
void on_block_erased(BasicBlock *BB) {
  block_erased(BB);
  metaloc_on_block_erase(BB);
}

void (*function_erased)(Function *);
void on_function_erased(Function *F) {
  function_erased(F);
  metaloc_on_function_erase(F);
}

void (*context_erased)(LLVMContext *);
void on_context_erased(LLVMContext *C) {
  context_erased(C);
  metaloc_on_context_erase(C);
}

// --- locations ------------------------------------------------------------------------------------

// setDebugLoc is inline, but whatever it does to the slot in the instruction is told to MetadataTracking.
// The owner is a PointerUnion, one word; DebugLoc's own references have none.
bool is_stack(const void *Ref, const void *Frame) {
  return uintptr_t(Ref) - uintptr_t(Frame) < (8u << 20);
}

const void *slot_owner(const void *Ref, const Metadata &MD, const void *Frame) {
  if (!observing() || !isa<DILocation>(MD) || is_stack(Ref, Frame))
    return nullptr;
  return static_cast<const char *>(Ref) - metaloc_location_offset();
}

bool (*track)(void *, Metadata &, uintptr_t);
bool on_track(void *Ref, Metadata &MD, uintptr_t Owner) {
  if (!Owner)
    if (const void *I = slot_owner(Ref, MD, FRAME))
      metaloc_on_set_location(I, &MD, FRAME);
  return track(Ref, MD, Owner);
}

void (*untrack)(void *, Metadata &);
void on_untrack(void *Ref, Metadata &MD) {
  if (const void *I = slot_owner(Ref, MD, FRAME))
    metaloc_on_set_location(I, nullptr, FRAME);
  untrack(Ref, MD);
}

bool (*retrack)(void *, Metadata &, void *);
bool on_retrack(void *Ref, Metadata &MD, void *New) {
  if (const void *I = slot_owner(Ref, MD, FRAME))
    metaloc_on_set_location(I, nullptr, FRAME);
  if (const void *I = slot_owner(New, MD, FRAME))
    metaloc_on_set_location(I, &MD, FRAME);
  return retrack(Ref, MD, New);
}

#if LLVM_VERSION_MAJOR >= 22
// DebugLoc has a destructor, so it is passed by reference to a temporary of the caller.
void (*merge)(Instruction *, const DebugLoc *, const DebugLoc *);
void on_merge(Instruction *I, const DebugLoc *A, const DebugLoc *B) {
  if (observing())
    metaloc_on_merge_location(I, A->get(), B->get(), FRAME);
  merge(I, A, B);
}
#else
void (*merge)(Instruction *, const DILocation *, const DILocation *);
void on_merge(Instruction *I, const DILocation *A, const DILocation *B) {
  if (observing())
    metaloc_on_merge_location(I, A, B, FRAME);
  merge(I, A, B);
}
#endif

void (*drop)(Instruction *);
void on_drop(Instruction *I) {
  if (observing())
    metaloc_on_drop_location(I, false, FRAME);
  drop(I);
}

void (*after_hoist)(Instruction *);
void on_after_hoist(Instruction *I) {
  if (observing())
    metaloc_on_drop_location(I, true, FRAME);
  after_hoist(I);
}

// --- the table ------------------------------------------------------------------------------------

template <class Entry, class Original> MetalocHook row(const char *Symbol, Entry *E, Original **O) {
  return {Symbol, reinterpret_cast<void *>(E), reinterpret_cast<void **>(O)};
}

#if LLVM_VERSION_MAJOR <= 16
#define INST_LIST "_ZN4llvm21SymbolTableListTraitsINS_11InstructionEE"
#define BLOCK_LIST "_ZN4llvm21SymbolTableListTraitsINS_10BasicBlockEE"
#define INST_ITERATORS "ERS2_NS_14ilist_iteratorINS_12ilist_detail12node_optionsIS1_Lb0ELb0EvEELb0ELb0EEES8_"
#define BLOCK_ITERATORS INST_ITERATORS
#define FUNCTION_SLOT "S6_"
#define OWNER "NS_12PointerUnionIJPNS_15MetadataAsValueEPS2_EEE"
#else
#define INST_LIST                                                                                            \
  "_ZN4llvm21SymbolTableListTraitsINS_11InstructionEJNS_19ilist_iterator_bitsILb1EEENS_12ilist_parentINS_"   \
  "10BasicBlockEEEEE"
#define BLOCK_LIST "_ZN4llvm21SymbolTableListTraitsINS_10BasicBlockEJEE"
#define INST_ITERATORS                                                                                       \
  "ERS7_NS_21ilist_iterator_w_bitsINS_12ilist_detail12node_optionsIS1_Lb0ELb0EvLb1ES5_EELb0ELb0EEESD_"
#define BLOCK_ITERATORS                                                                                      \
  "ERS2_NS_14ilist_iteratorINS_12ilist_detail12node_optionsIS1_Lb0ELb0EvLb0EvEELb0ELb0EEES8_"
#define FUNCTION_SLOT "SB_"
#define OWNER "NS_12PointerUnionIJPNS_15MetadataAsValueEPS2_PNS_14DebugValueUserEEEE"
#endif

} // namespace

const MetalocHook *metaloc_hooks(size_t *count) {
  // Local, because a preloaded library is asked before its static constructors have run.
  static const MetalocHook Hooks[] = {
#if LLVM_VERSION_MAJOR <= 16
      row("_ZN4llvm11InstructionC2EPNS_4TypeEjPNS_3UseEjPS0_", on_create_before, &create_before),
      row("_ZN4llvm11InstructionC2EPNS_4TypeEjPNS_3UseEjPNS_10BasicBlockE", on_create_at_end, &create_at_end),
#elif LLVM_VERSION_MAJOR <= 19
      row("_ZN4llvm11InstructionC2EPNS_4TypeEjPNS_3UseEjNS_14InsertPositionE", on_create, &create),
#else
      row("_ZN4llvm11InstructionC2EPNS_4TypeEjNS_4User9AllocInfoENS_14InsertPositionE", on_create, &create),
#endif
      row("_ZNK4llvm11Instruction5cloneEv", on_clone, &clone_),
      row("_ZN4llvm5Value6doRAUWEPS0_NS0_19ReplaceMetadataUsesE", on_rauw, &do_rauw),
      row("_ZN4llvm5Value23replaceUsesOutsideBlockEPS0_PNS_10BasicBlockE", on_outside_block, &outside_block),
      row("_ZN4llvm5Value17replaceUsesWithIfEPS0_NS_12function_refIFbRNS_3UseEEEE", on_uses_if, &uses_if),
      row("_ZN4llvm4User17replaceUsesOfWithEPNS_5ValueES2_", on_uses_of_with, &uses_of_with),
      row("_ZN4llvm24replaceDominatedUsesWithEPNS_5ValueES1_RNS_13DominatorTreeEPKNS_10BasicBlockE",
          DominatedUses<0>::entry, &DominatedUses<0>::original),
      row("_ZN4llvm24replaceDominatedUsesWithEPNS_5ValueES1_RNS_13DominatorTreeERKNS_14BasicBlockEdgeE",
          DominatedUses<1>::entry, &DominatedUses<1>::original),
      row("_ZN4llvm23replaceNonLocalUsesWithEPNS_11InstructionEPNS_5ValueE", DominatedUses<2>::entry,
          &DominatedUses<2>::original),
#if LLVM_VERSION_MAJOR >= 19
      row("_ZN4llvm26replaceDominatedUsesWithIfEPNS_5ValueES1_RNS_13DominatorTreeEPKNS_10BasicBlockENS_12"
          "function_refIFbRKNS_3UseEPKS0_EEE",
          DominatedUses<3>::entry, &DominatedUses<3>::original),
      row("_ZN4llvm26replaceDominatedUsesWithIfEPNS_5ValueES1_RNS_13DominatorTreeERKNS_14BasicBlockEdgeENS_12"
          "function_refIFbRKNS_3UseEPKS0_EEE",
          DominatedUses<4>::entry, &DominatedUses<4>::original),
#endif
#if LLVM_VERSION_MAJOR >= 22
      row("_ZN4llvm24replaceDominatedUsesWithEPNS_5ValueES1_RNS_13DominatorTreeEPKNS_11InstructionE",
          DominatedUses<5>::entry, &DominatedUses<5>::original),
      row("_ZN4llvm26replaceDominatedUsesWithIfEPNS_5ValueES1_RNS_13DominatorTreeEPKNS_11InstructionENS_12"
          "function_refIFbRKNS_3UseEPKS0_EEE",
          DominatedUses<6>::entry, &DominatedUses<6>::original),
#endif
      row("_ZN4llvm11InstructionD2Ev", on_erase, &erase_),
      row("_ZN4llvm5Value8takeNameEPS0_", on_take_name, &take_name),
      row(INST_LIST "13addNodeToListEPS1_", on_inst_added, &inst_added),
      row(INST_LIST "18removeNodeFromListEPS1_", on_inst_removed, &inst_removed),
      row("_ZN4llvm11Instruction11insertAfterEPS0_", on_insert_after, &insert_after),
#if LLVM_VERSION_MAJOR >= 22
      row("_ZN4llvm11Instruction11insertAfterENS_21ilist_iterator_w_bitsINS_12ilist_detail12node_optionsIS0_Lb0E"
          "Lb0EvLb1ENS_10BasicBlockEEELb0ELb0EEE",
          on_insert_after_iterator, &insert_after_iterator),
#endif
      row(INST_LIST "21transferNodesFromList" INST_ITERATORS, on_insts_moved, &insts_moved),
      row(BLOCK_LIST "13addNodeToListEPS1_", on_block_added, &block_added),
      row(BLOCK_LIST "18removeNodeFromListEPS1_", on_block_removed, &block_removed),
      row(BLOCK_LIST "21transferNodesFromList" BLOCK_ITERATORS, on_blocks_moved, &blocks_moved),
      row(INST_LIST "15setSymTabObjectIPNS_8FunctionEEEvPT_" FUNCTION_SLOT, on_block_parent, &block_parent),
      row("_ZN4llvm10BasicBlockD2Ev", on_block_erased, &block_erased),
      row("_ZN4llvm8FunctionD2Ev", on_function_erased, &function_erased),
      row("_ZN4llvm11LLVMContextD2Ev", on_context_erased, &context_erased),
      row("_ZN4llvm16MetadataTracking5trackEPvRNS_8MetadataE" OWNER, on_track, &track),
      row("_ZN4llvm16MetadataTracking7untrackEPvRNS_8MetadataE", on_untrack, &untrack),
      row("_ZN4llvm16MetadataTracking7retrackEPvRNS_8MetadataES1_", on_retrack, &retrack),
#if LLVM_VERSION_MAJOR <= 16
      row("_ZN4llvm11Instruction19applyMergedLocationEPKNS_10DILocationES3_", on_merge, &merge),
#elif LLVM_VERSION_MAJOR <= 19
      row("_ZN4llvm11Instruction19applyMergedLocationEPNS_10DILocationES2_", on_merge, &merge),
#else
      row("_ZN4llvm11Instruction19applyMergedLocationENS_8DebugLocES1_", on_merge, &merge),
#endif
      row("_ZN4llvm11Instruction12dropLocationEv", on_drop, &drop),
      row("_ZN4llvm11Instruction24updateLocationAfterHoistEv", on_after_hoist, &after_hoist),
  };
  *count = sizeof(Hooks) / sizeof(Hooks[0]);
  return Hooks;
}
