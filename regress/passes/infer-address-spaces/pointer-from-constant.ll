; metaloc: args=-mtriple=amdgcn-amd-amdhsa
; metaloc: shows=table6-97038-1 in=fetch wrong=- right=1:1@fetch destination=^%\S+ = addrspacecast
; A pointer that is loaded from constant memory points to global memory.
define i32 @fetch(ptr addrspace(4) %table) {
entry:
  %generic = load ptr, ptr addrspace(4) %table, align 8
  %value = load i32, ptr %generic, align 4
  ret i32 %value
}
