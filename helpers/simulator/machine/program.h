// program.h -- a kernel as the machine runs it; ptx/encode.py writes the same layout
//
// A register of PTX is a *slot*: 32 values, one for each lane, in the frame of the function that
// runs. Constants of the program and special registers (%tid.x ...) are slots, too, in the warp's
// *statics*, which every function sees. So all operands of an operation are pointers to 32 values.
//
//   slot of a predicate   one std::uint32_t, bit l for lane l               4 bytes (aligned to 4)
//   of 8 and 16 bits      32 x std::uint16_t                               64 bytes (aligned to 64)
//   of 32 bits            32 x std::uint32_t                              128 bytes (aligned to 64)
//   of 64 bits            32 x std::uint64_t                              256 bytes (aligned to 64)
//   of 128 bits           32 x 16 bytes, lower half first                 512 bytes (aligned to 64)
//
// An operand is the slot's byte offset, plus 1 if the slot is in the statics.
#pragma once
#include <cstdint>

enum StateSpace : std::uint8_t {
    GENERIC = 0,
    GLOBAL_SPACE,
    SHARED_SPACE,
    LOCAL_SPACE,
    CONST_SPACE,
    PARAM_SPACE
};

// The type of an instruction (of the last type qualifier where there are several).
enum Type : std::uint8_t {
    NO_TYPE = 0,
    PRED,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16X2,
    BF16,
    BF16X2,
    F32,
    F64,
    TF32,
    E4M3,
    E5M2,
    E4M3X2,
    E5M2X2,
    U16X2,
    S16X2,
};

// Qualifiers that do not enter an operation's name. The lowest two bits are a rounding mode, of a
// floating-point result (.rn .rz .rm .rp) or to an integer (.rni .rzi .rmi .rpi).
enum Flag : std::uint32_t {
    ROUND_NEAREST = 0,
    ROUND_ZERO = 1,
    ROUND_DOWN = 2,
    ROUND_UP = 3,
    ROUND_MASK = 3,
    ROUND_INTEGER = 1 << 2,    // the rounding mode is one of .rni .rzi .rmi .rpi
    FTZ = 1 << 3,
    SATURATE = 1 << 4,
    APPROXIMATE = 1 << 5,
    FULL_RANGE = 1 << 6,
    RELU = 1 << 7,
    SATFINITE = 1 << 8,
    NAN_RESULT = 1 << 9,    // .NaN of min and max
    XORSIGN_ABS = 1 << 10,
    ROUND_AWAY = 1 << 11 /* .rna */,
    WRAP = 1 << 12 /* shf, else clamp */,
    SHIFT_AMOUNT = 1 << 13 /* bfind */,
    VOLATILE = 1 << 14,
    SCOPE_CTA = 1 << 15,
    SCOPE_GPU = 1 << 16,
    SCOPE_SYS = 1 << 17,
    RELAXED = 1 << 18,
    ACQUIRE = 1 << 19,
    RELEASE = 1 << 20,
    NON_COHERENT = 1 << 21 /* ld.global.nc */,
    RESULT_UNUSED = 1 << 22,    // nothing reads the old value of this atom: ptxas makes it a red
    NO_COUNT = 1 << 23,    // ptxas removes or joins this access: it runs, but does not count
    UNALIGNED_OK = 1 << 24,    // barrier.sync without .aligned
    ADDRESS_32 = 1 << 25,    // the address operand is a slot of 32 bits
    FRAME_LOCAL = 1 << 26,    // the immediate is an offset in the running function's local memory
    PARAMETER = 1 << 27,    // a parameter or a return value of a call: no check and no count
};

struct Instruction {    // 64 bytes
    std::uint16_t operation;    // index into the table of operations (operations.h)
    std::uint8_t
        guard;    // 0: none; 1: only lanes where the predicate is true; 2: where it is false
    std::uint8_t count;    // operands
    std::int32_t predicate;    // slot of the guard
    std::int32_t
        operand[6];    // slots, in PTX's order (vectors and pairs written out); -1: none ("_")
    std::uint32_t more;    // operands beyond six: Program::operands[more], [more + 1] ...
    std::uint32_t flags;
    std::int64_t immediate;    // memory: what is added to the address; others as they say
    std::uint8_t space;    // StateSpace, of memory operations
    std::uint8_t bytes;    // of one element, of memory operations
    std::uint8_t elements;    // 1, 2, 4 or 8, of memory operations
    std::uint8_t type;    // Type
    std::uint32_t place;    // index into the program's list of source places (encode.py keeps it)
    std::int32_t target;    // bra: the instruction; call: the function, or -1 - k for the k-th
                            // builtin, INT32_MIN by operand 0
    std::int32_t
        join;    // bra: where its ways meet again (immediate post-dominator); -1: only at the end
                 // call by operand 0: where lanes that call different functions meet again; or -1
                 // ld, st: the size with which the access counts, at the address + target; -1: its
                 // own. Bits 0 to 7: bytes. If ptxas makes two accesses of it, bits 8 to 15 are
                 // the bytes of the second, and the bits from 16 on its distance from the first.
                 // atom: AtomicForm, what ptxas makes of it
};
static_assert(sizeof(Instruction) == 64, "encode.py writes 64 bytes");

// Instruction::join of an atomic: bits. atomics.py says which atomics have them.
enum AtomicForm : std::int32_t {
    JOINED = 1,    // additions of one to words of shared memory: lanes that meet a word are served
                   // together
    SPIN = 2,    // in shared memory: rounds of a load and a try, of which one lane a bank succeeds
    WORD = 4,    // of 16 bits: a load of the word around them, and rounds of compare-and-swap
    ONE_LANE = 8,    // one lane does it for all
    WHOLE_WARP = 16,    // the same, where all lanes take part
};

struct Function {    // 32 bytes; function 0 is the kernel
    std::int32_t first;    // its first instruction
    std::int32_t end;    // one behind its last
    std::uint32_t frame_bytes;    // of its slots
    std::uint32_t local_bytes;    // of local memory a lane: parameters passed (first), then its own
                                  // arrays; a multiple of 16
    std::uint32_t parameter_bytes;
    std::uint32_t stack_bytes;    // of its frame in the machine code; 0: not known
    std::uint32_t reserved[2];
};

struct Static {    // a slot of the statics: 16 bytes
    std::uint32_t slot;    // byte offset
    std::uint16_t kind;    // StaticKind
    std::uint16_t bytes;    // of one value: 2, 4, 8; 0 for a predicate
    std::uint64_t value;    // CONSTANT_VALUE: the bits, the same for all lanes
};
enum StaticKind : std::uint16_t {
    CONSTANT_VALUE = 0,
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    NWARPID,
    SMID,
    NSMID,
    LANEMASK_EQ,
    LANEMASK_LT,
    LANEMASK_LE,
    LANEMASK_GT,
    LANEMASK_GE,
    DYNAMIC_SMEM_SIZE,
    TOTAL_SMEM_SIZE,
    GRIDID,
    // %clock, %clock64, %globaltimer change: `mov` from them is the operation "mov.clock"
};

struct Program {
    const Instruction* instructions;
    const std::int32_t* operands;
    const Function* functions;
    const Static* statics;
    const std::uint32_t* place_groups;    // by place: equal where file, line and column are,
                                          // whatever was inlined where
    // By instruction: the array in which its address must lie. The offset of a pointer among the
    // parameters; -2 - k: the variable whose address is static k; -2 - static_count - k: shared
    // variable k; -1: not known.
    const std::int32_t* origins;
    // By instruction: which `extern __shared__` array it accesses, from 1; 0: none; 255: one of them,
    // not known which. Null if the program does not have two of them.
    const std::uint8_t* shared_names;
    std::uint32_t instruction_count, function_count, static_count, statics_bytes;
};
