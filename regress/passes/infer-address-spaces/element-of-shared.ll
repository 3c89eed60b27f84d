; metaloc: args=-mtriple=amdgcn-amd-amdhsa
; metaloc: shows=table4-52545e6-1 in=element wrong=- right=2:1@element destination=^%at\S* = getelementptr
; The address of an element is computed in the address space of the array.
define i32 @element(ptr addrspace(3) %shared, i64 %i) {
entry:
  %generic = addrspacecast ptr addrspace(3) %shared to ptr
  %at = getelementptr i32, ptr %generic, i64 %i
  %value = load i32, ptr %at, align 4
  ret i32 %value
}
