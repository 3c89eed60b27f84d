//! The C text of the driver. It prints the addresses of the globals; then, for each input, it reads the number
//! of a function, the arguments and the globals, calls, and prints the result, what the function did not keep
//! though the caller wants it back, and the globals.

use crate::ir::Global;
use std::fmt::Write;

/// How a function is called. The registers that it must keep hold chosen numbers, as do the words above its return
/// address and its arguments, and the bits in which they differ afterwards, the stack pointer included, are what
/// was lost.
const CALL: &str = r#"
#ifdef __x86_64__
uint64_t metaloc_call(void *function, const uint64_t *arguments, uint64_t *lost);
uint64_t metaloc_stack;
__asm__(
  ".text\n.globl metaloc_call\n.type metaloc_call, @function\nmetaloc_call:\n"
  "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\npush %rdx\n"
  "mov %rdi, %r11\nmov %rsi, %r10\n"
  "movabs $0x1234567890abcdef, %rax\npush %rax\npush %rax\n"
  "mov (%r10), %rdi\nmov 8(%r10), %rsi\nmov 16(%r10), %rdx\nmov 24(%r10), %rcx\n"
  "mov 32(%r10), %r8\nmov 40(%r10), %r9\n"
  "movabs $0x0101010101010101, %rbx\nmovabs $0x0202020202020202, %rbp\n"
  "movabs $0x0303030303030303, %r12\nmovabs $0x0404040404040404, %r13\n"
  "movabs $0x0505050505050505, %r14\nmovabs $0x0606060606060606, %r15\n"
  "mov %rsp, metaloc_stack\n"
  "call *%r11\n"
  "mov %rsp, %rcx\nmov metaloc_stack, %rsp\nxor %rsp, %rcx\n"
  "movabs $0x0101010101010101, %rdx\nxor %rbx, %rdx\nor %rdx, %rcx\n"
  "movabs $0x0202020202020202, %rdx\nxor %rbp, %rdx\nor %rdx, %rcx\n"
  "movabs $0x0303030303030303, %rdx\nxor %r12, %rdx\nor %rdx, %rcx\n"
  "movabs $0x0404040404040404, %rdx\nxor %r13, %rdx\nor %rdx, %rcx\n"
  "movabs $0x0505050505050505, %rdx\nxor %r14, %rdx\nor %rdx, %rcx\n"
  "movabs $0x0606060606060606, %rdx\nxor %r15, %rdx\nor %rdx, %rcx\n"
  "movabs $0x1234567890abcdef, %rbx\npop %rdx\nxor %rbx, %rdx\nor %rdx, %rcx\n"
  "pop %rdx\nxor %rbx, %rdx\nor %rdx, %rcx\n"
  "pop %rdx\nmov %rcx, (%rdx)\n"
  "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n");
#define CALL(function) metaloc_call((void *)(function), head + 1, &lost)
#else
uint64_t metaloc_call(void *function, const uint64_t *arguments, uint64_t *lost);
uint32_t metaloc_stack;
__asm__(
  ".text\n.globl metaloc_call\n.type metaloc_call, @function\nmetaloc_call:\n"
  "push %ebx\npush %ebp\npush %esi\npush %edi\n"
  "mov 20(%esp), %eax\nmov 24(%esp), %ecx\n"
  "mov %esp, %ebp\nand $-16, %esp\npush %ebp\nsub $4, %esp\n"
  "push $0x12345678\npush $0x12345678\n"
  "sub $8, %esp\n"
  "push 40(%ecx)\npush 32(%ecx)\npush 24(%ecx)\npush 16(%ecx)\npush 8(%ecx)\npush (%ecx)\n"
  "mov $0x01010101, %ebx\nmov $0x02020202, %ebp\nmov $0x03030303, %esi\nmov $0x04040404, %edi\n"
  "mov %esp, metaloc_stack\n"
  "call *%eax\n"
  "mov %esp, %ecx\nmov metaloc_stack, %esp\nxor %esp, %ecx\n"
  "xor $0x01010101, %ebx\nor %ebx, %ecx\nxor $0x02020202, %ebp\nor %ebp, %ecx\n"
  "xor $0x03030303, %esi\nor %esi, %ecx\nxor $0x04040404, %edi\nor %edi, %ecx\n"
  "mov 32(%esp), %ebx\nxor $0x12345678, %ebx\nor %ebx, %ecx\n"
  "mov 36(%esp), %ebx\nxor $0x12345678, %ebx\nor %ebx, %ecx\n"
  "mov 44(%esp), %esp\n"
  "mov 28(%esp), %ebx\nmov %ecx, (%ebx)\nmovl $0, 4(%ebx)\n"
  "pop %edi\npop %esi\npop %ebp\npop %ebx\nret\n");
#define CALL(function) metaloc_call((void *)(function), head + 1, &lost)
#endif
"#;

pub(super) fn source(globals: &[Global], functions: &[String]) -> String {
    let mut text = String::from("#include <stdint.h>\n#include <stdio.h>\n");
    for global in globals {
        let _ = writeln!(
            text,
            "unsigned char {}[{}] __attribute__((aligned({})));",
            global.symbol,
            global.size_bytes.max(1),
            global.align_bytes.max(1)
        );
    }
    for function in functions {
        let _ = writeln!(text, "uintptr_t {function}();");
    }
    text.push_str(CALL);
    text.push_str("static uintptr_t (*const functions[])() = {");
    functions.iter().for_each(|function| {
        let _ = write!(text, "{function}, ");
    });
    text.push_str("0};\nint main(void) {\n  uint64_t head[7], returned, lost = 0;\n");
    for global in globals {
        let _ = writeln!(text, "  returned = (uintptr_t){}; fwrite(&returned, 8, 1, stdout);", global.symbol);
    }
    text.push_str("  while (fread(head, 8, 7, stdin) == 7) {\n");
    for global in globals.iter().filter(|global| global.size_bytes > 0) {
        let _ = writeln!(
            text,
            "    if (fread({0}, {1}, 1, stdin) != 1) return 1;",
            global.symbol, global.size_bytes
        );
    }
    text.push_str(
        "    returned = CALL(functions[head[0]]);\n    \
         fwrite(&returned, 8, 1, stdout);\n    fwrite(&lost, 8, 1, stdout);\n",
    );
    for global in globals.iter().filter(|global| global.size_bytes > 0) {
        let _ = writeln!(text, "    fwrite({0}, {1}, 1, stdout);", global.symbol, global.size_bytes);
    }
    text.push_str("  }\n  return 0;\n}\n");
    text
}
