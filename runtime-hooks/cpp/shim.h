// The whole C ABI between Rust and LLVM. LLVM's headers are included by the .cpp files of this folder
// and nowhere else; Rust sees opaque pointers and the structs below (mirrored in src/ffi.rs).
//
// Two directions:
//   metaloc_on_*   implemented in Rust, called by the detours and pass callbacks here;
//   metaloc_*      implemented here, called by Rust: questions about IR objects.
//
// Safety, for all questions: a pointer is a live object of the type its name says, and no other thread
// changes its module meanwhile. Rust keeps this by asking only from within a hook on the thread that
// owns the module, about objects whose destruction it has not seen.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

struct MetalocString {
  const char *data;
  size_t size;
};

// One detour: `symbol` is looked up in the process, `entry` is jumped to instead, and `*original` gets
// the address of a trampoline that runs the function itself.
struct MetalocHook {
  const char *symbol;
  void *entry;
  void **original;
};

// An instruction as the snapshot wants it.
struct MetalocInst {
  const void *inst;
  const void *location; // DILocation or null
  uint8_t opcode;       // LLVM's number of this version
  uint8_t flags;        // bits of record::InstFlags
};

// The edges of a block as last read, to be compared with what they are. Kept by Rust in one array, so that
// looking for changed edges in a large function touches one line of memory per block beyond it.
struct MetalocEdges {
  const void *terminator;    // null in a block without one
  const void *successors[2]; // those beyond the count are null
  uint32_t count;            // more than two are not compared, but counted as changed
};

// What an instruction uses and writes to.
struct MetalocUses {
  const void *operands[8]; // the first ones; null for what is no instruction
  uint32_t count;          // how many of these
  uint8_t written;         // what a store or a memory intrinsic writes to: none, instruction, argument, global
  uint64_t object;         // address of the instruction, number of the argument, hash of the global's name
};

struct MetalocLocation {
  uint32_t line;
  uint32_t column;
  const void *scope; // discriminators looked through
  const void *inlined_at;
};

struct MetalocScope {
  MetalocString file;
  MetalocString subprogram;
  const void *parent; // null for a subprogram
};

// Rust side. `frame` is the address of the detour's frame: [frame] is the caller's rbp, [frame + 8] the
// return address, frame + 16 the caller's stack pointer.
extern volatile uint32_t metaloc_observing; // number of threads that want events; 0 makes hooks free
void metaloc_on_create(const void *inst, uint32_t opcode, const void *frame);
void metaloc_on_clone(const void *inst, const void *source, const void *frame);
void metaloc_on_insert(const void *inst, const void *frame);
void metaloc_on_insert_after(const void *inst, const void *after); // follows metaloc_on_insert
void metaloc_on_remove(const void *inst);
void metaloc_on_transfer(const void *const *insts, size_t count, const void *from, const void *frame);
void metaloc_on_replace(const void *source, const void *inst_or_null, bool all, const void *frame);
void metaloc_on_erase(const void *inst);
void metaloc_on_take_name(const void *inst);
void metaloc_on_set_location(const void *inst, const void *location, const void *frame);
void metaloc_on_merge_location(const void *inst, const void *a, const void *b, const void *frame);
void metaloc_on_drop_location(const void *inst, bool after_hoist, const void *frame);
void metaloc_on_block_insert(const void *block);
void metaloc_on_block_remove(const void *block);
void metaloc_on_block_erase(const void *block);
void metaloc_on_function_erase(const void *function);
void metaloc_on_context_erase(const void *context);
// What a pass is about to run on. `functions` are those that it may change; for a module pass there are none
// and `module` is set. For a loop pass `blocks` are those of the loop, those that lead into it, and
// those that lead to these.
struct MetalocUnit {
  const void *module;
  const void *const *functions;
  size_t function_count;
  const void *const *blocks;
  size_t block_count;
};
void metaloc_on_pass_begin(MetalocString class_name, MetalocString pass_name, const MetalocUnit *unit,
                           const void *frame);
void metaloc_on_module(const void *module); // the legacy manager begins with a module
void metaloc_on_pass_end(bool all_preserved, bool cfg_preserved);

// Questions.
const MetalocHook *metaloc_hooks(size_t *count);        // instructions, blocks, locations
const MetalocHook *metaloc_legacy_hooks(size_t *count); // legacy pass managers
void metaloc_register_callbacks(void *pass_builder);
uint32_t metaloc_plugin_api_version(void);
MetalocString metaloc_llvm_version(void);
MetalocString metaloc_opcode_name(uint32_t opcode);
size_t metaloc_location_offset(void); // of the location slot in an Instruction
size_t metaloc_node_offset(void);     // of the list node in an Instruction
size_t metaloc_list_offset(void);     // of the instruction list in a BasicBlock; 0 until a block was read

size_t metaloc_module_functions(const void *module, const void **out, size_t capacity); // definitions only
MetalocString metaloc_module_identifier(const void *module);
const void *metaloc_function_module(const void *function);
const void *metaloc_function_context(const void *function);
MetalocString metaloc_function_name(const void *function);
size_t metaloc_function_blocks(const void *function, const void **out, size_t capacity);
size_t metaloc_function_arguments(const void *function, const void **out, size_t capacity);
// Leaves those of live values that the printer numbers, in their order, and returns how many there are.
size_t metaloc_keep_unnamed(const void **values, size_t count);
const void *metaloc_function_entry(const void *function); // null for a declaration
const void *metaloc_block_function(const void *block);
size_t metaloc_block_insts(const void *block, MetalocInst *out, size_t capacity);
MetalocEdges metaloc_block_edges(const void *block);
// Writes the indices of those that have changed and returns how many there are. The terminators are alive.
size_t metaloc_changed_edges(const MetalocEdges *edges, size_t count, uint32_t *out);
size_t metaloc_block_successors(const void *block, const void **out, size_t capacity);
const void *metaloc_inst_block(const void *inst);
const void *metaloc_inst_next(const void *inst); // next that is no debug intrinsic; null at the end
const void *metaloc_inst_location(const void *inst);
// What an instruction uses, for one that may be about to die: its operands may be gone already.
MetalocUses metaloc_inst_uses(const void *inst);
// Instructions that use its value, one of them once per use; never more than `capacity` + 1, which says "more".
size_t metaloc_inst_users(const void *inst, const void **out, size_t capacity);
// Stores to null or poison, or has a value that only intrinsics without code use.
bool metaloc_inst_is_marker(const void *inst);
// True for a call in a function with debug information that the verifier refuses without a location.
bool metaloc_call_needs_location(const void *inst);
// True if the function has debug information and the location of the instruction is one of another function.
bool metaloc_inst_has_foreign_scope(const void *inst);
// True if the function that it is in has debug information.
bool metaloc_inst_is_described(const void *inst);
// `%name` as the printer writes it; empty for a value without a name.
size_t metaloc_named_inst(const void *inst, char *out, size_t capacity);
// The whole instruction as in the IR.
size_t metaloc_inst_print(const void *inst, char *out, size_t capacity);
MetalocString metaloc_value_name(const void *value);
MetalocLocation metaloc_location(const void *location);
MetalocScope metaloc_scope(const void *scope);

// Around the loading of a file whose options are registered already.
void metaloc_options_set_aside(void);
void metaloc_options_put_back(void);
// Gives the options of the file just loaded what the command line gives to those of the same name. Returns the
// name of one that cannot be set to the same, or nothing.
MetalocString metaloc_options_replay(const char *const *args, size_t count);

// Runs `handler` when the process dies of a signal, after LLVM's own handlers were installed.
void metaloc_on_crash(void (*handler)(void *));
}
