//! The C text of the driver. It prints the addresses of the globals; then, for each input, it reads the number
//! of a function, the arguments and the globals, calls, and prints the result and the globals.

use crate::ir::Global;
use std::fmt::Write;

pub(super) fn source(globals: &[Global], functions: &[String]) -> String {
    let mut text = String::from(
        "#include <stdint.h>\n#include <stdio.h>\n\
         #define WORD(number) ((uintptr_t)head[number])\n\
         #define ARGUMENTS WORD(1), WORD(2), WORD(3), WORD(4), WORD(5), WORD(6)\n",
    );
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
    text.push_str("static uintptr_t (*const functions[])() = {");
    functions.iter().for_each(|function| {
        let _ = write!(text, "{function}, ");
    });
    text.push_str("0};\nint main(void) {\n  uint64_t head[7], returned;\n");
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
        "    returned = functions[head[0]](ARGUMENTS);\n    \
         fwrite(&returned, 8, 1, stdout);\n",
    );
    for global in globals.iter().filter(|global| global.size_bytes > 0) {
        let _ = writeln!(text, "    fwrite({0}, {1}, 1, stdout);", global.symbol, global.size_bytes);
    }
    text.push_str("  }\n  return 0;\n}\n");
    text
}
