// matrices.cpp -- matrices between memory and the registers of a warp: ldmatrix, stmatrix,
// movmatrix, wmma.load, wmma.store
//
// The machine counts the requests that compute capability 9.0 makes. ldmatrix and stmatrix make one
// request of 16 bytes a lane; eight lanes access a matrix. wmma makes one request for each
// register, of neighbouring elements. If the matrix is stored in the other order, elements of 16
// bits still move in pairs, because the lanes exchange them; other elements move one by one.
#include <cstring>

#include "async_parts.h"
#include "fragments.h"

namespace {

using std::int32_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

bool refuse(Worker& w, Warp& warp, int lane, int32_t pc, const char* text) {
    w.fault(warp, lane, pc, FAULT, text);
    return false;
}
bool all_lanes_take_part(Worker& w, Warp& warp, uint32_t lanes, int32_t pc) {
    if (lanes == ALL_LANES) return true;
    w.fault(warp, __builtin_ctz(lanes), pc, PARTIAL_WARP);
    return false;
}
template <class T> T read(uint64_t address) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}
template <class T> void write(uint64_t address, T value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

// ---- 8 x 8 matrices of 16 bits: lane 4 g + q holds elements 2 q and 2 q + 1 of row g, or,
// transposed, of column g ----

template <int count>
constexpr uint32_t lanes_of_rows = count == 4 ? ALL_LANES : (1u << 8 * (count % 4)) - 1;

template <int count, bool transposed>
bool load(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    if (!all_lanes_take_part(w, warp, lanes, pc)) return false;
    uint64_t rows[WARP_SIZE];    // the address of each row is one lane's
    for_lanes(ALL_LANES, [&](int lane) {
        rows[lane] = address_at(w, warp, i, count, lane, i.space == SHARED_SPACE);
    });
    if (!observe_access(w, warp, pc, lanes_of_rows<count>, rows, 16, LOAD)) return false;
    for (int matrix = 0; matrix < count; ++matrix) {
        uint32_t* result = warp.nth<uint32_t>(i, matrix);
        const uint64_t* row = rows + 8 * matrix;
        for (uint32_t lane = 0; lane < WARP_SIZE; ++lane) {
            const uint32_t g = lane / 4, q = lane % 4;
            result[lane] = transposed ? read<uint16_t>(row[2 * q] + 2 * g) |
                                            uint32_t(read<uint16_t>(row[2 * q + 1] + 2 * g)) << 16
                                      : read<uint32_t>(row[g] + 4 * q);
        }
    }
    return true;
}

template <int count, bool transposed>
bool store(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    if (!all_lanes_take_part(w, warp, lanes, pc)) return false;
    uint64_t rows[WARP_SIZE];
    for_lanes(ALL_LANES, [&](int lane) {
        rows[lane] = address_at(w, warp, i, 0, lane, i.space == SHARED_SPACE);
    });
    if (!observe_access(w, warp, pc, lanes_of_rows<count>, rows, 16, STORE)) return false;
    for (int matrix = 0; matrix < count; ++matrix) {
        const uint32_t* source = warp.nth<uint32_t>(i, 1 + matrix);
        const uint64_t* row = rows + 8 * matrix;
        for (uint32_t lane = 0; lane < WARP_SIZE; ++lane) {
            const uint32_t g = lane / 4, q = lane % 4;
            if (transposed) {
                write(row[2 * q] + 2 * g, static_cast<uint16_t>(source[lane]));
                write(row[2 * q + 1] + 2 * g, static_cast<uint16_t>(source[lane] >> 16));
            } else {
                write(row[g] + 4 * q, source[lane]);
            }
        }
    }
    return true;
}

bool transpose(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    if (!all_lanes_take_part(w, warp, lanes, pc)) return false;
    uint32_t given[WARP_SIZE];
    std::memcpy(given, warp.nth<uint32_t>(i, 1), sizeof given);
    uint32_t* result = warp.nth<uint32_t>(i, 0);
    for (uint32_t lane = 0; lane < WARP_SIZE; ++lane) {
        const uint32_t g = lane / 4, q = lane % 4, shift = g % 2 * 16;
        const uint32_t low = given[4 * (2 * q) + g / 2] >> shift,
                       high = given[4 * (2 * q + 1) + g / 2] >> shift;
        result[lane] = (low & 0xFFFF) | high << 16;
    }
    return true;
}

// ---- wmma ----

struct Form {
    const char* name;    // a, b, c or d; shape; type
    spread::Use use;
    int m, n, k, bits;
    int registers;    // 0: as many as the elements need

    constexpr spread::Spread layout() const {
        return spread::Spread(use, m, n, k, bits >= 32 ? 1 : 32 / bits);
    }
    constexpr int together() const { return layout().pack; }    // elements that lie side by side
    constexpr int per_register() const { return bits >= 32 ? 1 : 32 / bits; }
    constexpr int distinct() const {
        return layout().elements() / per_register();
    }    // registers with elements of their own
    constexpr int count() const { return registers != 0 ? registers : distinct(); }
};
constexpr spread::Use A = spread::Use::A, B = spread::Use::B, SUM = spread::Use::SUM;

constexpr Form forms[] = {
    {"m16n16k16.f16", A, 16, 16, 16, 16, 8},   {"m16n16k16.f16", B, 16, 16, 16, 16, 8},
    {"m16n16k16.f16", SUM, 16, 16, 16, 16, 0}, {"m8n32k16.f16", A, 8, 32, 16, 16, 8},
    {"m8n32k16.f16", B, 8, 32, 16, 16, 8},     {"m8n32k16.f16", SUM, 8, 32, 16, 16, 0},
    {"m32n8k16.f16", A, 32, 8, 16, 16, 8},     {"m32n8k16.f16", B, 32, 8, 16, 16, 8},
    {"m32n8k16.f16", SUM, 32, 8, 16, 16, 0},   {"m16n16k16.bf16", A, 16, 16, 16, 16, 0},
    {"m16n16k16.bf16", B, 16, 16, 16, 16, 0},  {"m8n32k16.bf16", A, 8, 32, 16, 16, 0},
    {"m8n32k16.bf16", B, 8, 32, 16, 16, 0},    {"m32n8k16.bf16", A, 32, 8, 16, 16, 0},
    {"m32n8k16.bf16", B, 32, 8, 16, 16, 0},    {"m16n16k16.s8", A, 16, 16, 16, 8, 0},
    {"m16n16k16.s8", B, 16, 16, 16, 8, 0},     {"m8n32k16.s8", A, 8, 32, 16, 8, 0},
    {"m8n32k16.s8", B, 8, 32, 16, 8, 0},       {"m32n8k16.s8", A, 32, 8, 16, 8, 0},
    {"m32n8k16.s8", B, 32, 8, 16, 8, 0},       {"m16n16k16.u8", A, 16, 16, 16, 8, 0},
    {"m16n16k16.u8", B, 16, 16, 16, 8, 0},     {"m8n32k16.u8", A, 8, 32, 16, 8, 0},
    {"m8n32k16.u8", B, 8, 32, 16, 8, 0},       {"m32n8k16.u8", A, 32, 8, 16, 8, 0},
    {"m32n8k16.u8", B, 32, 8, 16, 8, 0},       {"m16n16k8.tf32", A, 16, 16, 8, 32, 0},
    {"m16n16k8.tf32", B, 16, 16, 8, 32, 0},    {"m16n16k8.f32", SUM, 16, 16, 8, 32, 0},
    {"m16n16k16.f32", SUM, 16, 16, 16, 32, 0}, {"m8n32k16.f32", SUM, 8, 32, 16, 32, 0},
    {"m32n8k16.f32", SUM, 32, 8, 16, 32, 0},   {"m16n16k16.s32", SUM, 16, 16, 16, 32, 0},
    {"m8n32k16.s32", SUM, 8, 32, 16, 32, 0},   {"m32n8k16.s32", SUM, 32, 8, 16, 32, 0},
    {"m8n8k4.f64", A, 8, 8, 4, 64, 0},         {"m8n8k4.f64", B, 8, 8, 4, 64, 0},
    {"m8n8k4.f64", SUM, 8, 8, 4, 64, 0},       {"m8n8k32.s4", A, 8, 8, 32, 4, 0},
    {"m8n8k32.s4", B, 8, 8, 32, 4, 0},         {"m8n8k32.u4", A, 8, 8, 32, 4, 0},
    {"m8n8k32.u4", B, 8, 8, 32, 4, 0},         {"m8n8k32.s32", SUM, 8, 8, 32, 32, 0},
    {"m8n8k128.b1", A, 8, 8, 128, 1, 0},       {"m8n8k128.b1", B, 8, 8, 128, 1, 0},
    {"m8n8k128.s32", SUM, 8, 8, 128, 32, 0},
};
constexpr int form_count = static_cast<int>(std::size(forms));
constexpr int most_registers = 8;

// The place of the first element of each register, for each lane.
struct Cells {
    std::array<std::array<uint8_t, WARP_SIZE>, most_registers> row{}, column{};
    // The same for the pairs of 16 bits that a lane moves where the lanes exchange them.
    std::array<std::array<uint8_t, WARP_SIZE>, most_registers> other_row{}, other_column{};

    Cells(const Form& form) {
        const spread::Spread layout = form.layout();
        for (int r = 0; r < form.distinct(); ++r)
            for (int lane = 0; lane < WARP_SIZE; ++lane) {
                const auto cell = layout.at(lane, r * form.per_register());
                row[r][lane] = static_cast<uint8_t>(cell.row),
                column[r][lane] = static_cast<uint8_t>(cell.column);
                const auto corner = layout.at(0, r * form.per_register());
                other_row[r][lane] = static_cast<uint8_t>(corner.row + cell.column - corner.column);
                other_column[r][lane] = static_cast<uint8_t>(corner.column + cell.row - corner.row);
            }
    }
};

// The matrix in memory. All lanes must give the same.
struct Matrix {
    uint64_t start, stride;    // stride: in elements
    bool by_rows;
    uint64_t at(int row, int column, int bits) const {
        const uint64_t element = by_rows ? uint64_t(row) * stride + uint64_t(column)
                                         : uint64_t(column) * stride + uint64_t(row);
        return start + element * uint64_t(bits) / 8;
    }
};

bool find_matrix(Worker& w, Warp& warp, const Instruction& i, int32_t pc, const Form& form,
                 int address, Matrix& matrix) {
    const uint64_t* starts = warp.nth<uint64_t>(i, address);
    const int at_stride = address == 0 ? 1 + form.count() : 1 + address;
    const uint32_t* strides = i.count > at_stride ? warp.nth<uint32_t>(i, at_stride) : nullptr;
    for (int lane = 1; lane < WARP_SIZE; ++lane)
        if (starts[lane] != starts[0] || (strides != nullptr && strides[lane] != strides[0]))
            return refuse(w, warp, lane, pc,
                          "gives another address or stride of a wmma matrix than lane 0");
    const int rows = form.use == B ? form.k : form.m, columns = form.use == A ? form.k : form.n;
    matrix.start = address_at(w, warp, i, address, 0, i.space == SHARED_SPACE);
    matrix.stride =
        strides != nullptr ? strides[0] : static_cast<uint64_t>(matrix.by_rows ? columns : rows);
    if (matrix.start % 32 != 0)
        return refuse(w, warp, 0, pc,
                      "gives wmma a matrix at an address that is not a multiple of 32 bytes");
    if (matrix.stride * uint64_t(form.bits) % 128 != 0)
        return refuse(w, warp, 0, pc,
                      "gives wmma a matrix whose rows are not multiples of 16 bytes apart");
    return true;
}

// Makes the requests of a load or a store. along: the elements of a register are neighbours in
// memory.
bool observe_matrix(Worker& w, Warp& warp, int32_t pc, const Form& form, const Cells& cells,
                    const Matrix& matrix, bool along, Access access) {
    const int per_request = !along && form.bits != 16 ? 1
                            : form.bits >= 32         ? form.together()
                                                      : form.per_register();
    const uint32_t size = static_cast<uint32_t>(per_request * form.bits + 7) / 8;
    const int elements = form.distinct() * form.per_register();
    const bool exchanged = !along && form.bits == 16;
    uint64_t addresses[WARP_SIZE];
    for (int first = 0; first < elements; first += per_request) {
        const int r = first / form.per_register(), beyond = first % form.per_register();
        const auto& rows = exchanged ? cells.other_row[r] : cells.row[r];
        const auto& columns = exchanged ? cells.other_column[r] : cells.column[r];
        // Not along: the elements of a register lie one stride apart.
        const uint64_t shift =
            uint64_t(beyond) * (along ? 1 : matrix.stride) * uint64_t(form.bits) / 8;
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            addresses[lane] = matrix.at(rows[lane], columns[lane], form.bits) + shift;
        if (!observe_access(w, warp, pc, ALL_LANES, addresses, size, access)) return false;
    }
    return true;
}

bool runs_along(const Form& form, bool by_rows) {
    const bool minor_is_row = form.use == B || form.layout().transposed;
    return by_rows != minor_is_row;
}

// Moves one register of all lanes. step: bytes between its elements, if they are no neighbours.
void load_register(uint32_t* to, const uint64_t* from, int bits, bool along, uint64_t step) {
    if (along || bits == 32)
        for (int lane = 0; lane < WARP_SIZE; ++lane) to[lane] = read<uint32_t>(from[lane]);
    else if (bits == 16)
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            to[lane] = read<uint16_t>(from[lane]) | uint32_t(read<uint16_t>(from[lane] + step))
                                                        << 16;
    else    // 8 bits: fewer are loaded along only
        for (int lane = 0; lane < WARP_SIZE; ++lane) {
            to[lane] = 0;
            for (uint32_t e = 0; e < 4; ++e)
                to[lane] |= uint32_t(read<uint8_t>(from[lane] + e * step)) << 8 * e;
        }
}
void store_register(const uint32_t* from, const uint64_t* to, int bits, bool along, uint64_t step) {
    if (along || bits == 32)
        for (int lane = 0; lane < WARP_SIZE; ++lane) write(to[lane], from[lane]);
    else
        for (int lane = 0; lane < WARP_SIZE; ++lane) {
            write(to[lane], static_cast<uint16_t>(from[lane]));
            write(to[lane] + step, static_cast<uint16_t>(from[lane] >> 16));
        }
}

bool move_matrix(Worker& w, Warp& warp, const Instruction& i, int32_t pc, const Form& form,
                 const Cells& cells, bool by_rows, bool loads) {
    Matrix matrix{0, 0, by_rows};
    if (!find_matrix(w, warp, i, pc, form, loads ? form.count() : 0, matrix)) return false;
    const bool along = runs_along(form, by_rows);
    if (!observe_matrix(w, warp, pc, form, cells, matrix, along, loads ? LOAD : STORE))
        return false;
    const uint64_t step = matrix.stride * uint64_t(form.bits) / 8;
    for (int r = 0; r < form.count(); ++r) {
        const auto &rows = cells.row[r % form.distinct()],
                   &columns = cells.column[r % form.distinct()];
        uint64_t at[WARP_SIZE];
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            at[lane] = matrix.at(rows[lane], columns[lane], form.bits);
        const int operand = loads ? r : 1 + r;
        if (form.bits == 64) {
            uint64_t* values = warp.nth<uint64_t>(i, operand);
            for (int lane = 0; lane < WARP_SIZE; ++lane)
                if (loads) values[lane] = read<uint64_t>(at[lane]);
                else write(at[lane], values[lane]);
        } else if (loads) {
            load_register(warp.nth<uint32_t>(i, operand), at, form.bits, along, step);
        } else {
            store_register(warp.nth<uint32_t>(i, operand), at, form.bits, along, step);
        }
    }
    return true;
}

const std::vector<Cells>& cells_of_forms() {
    static const std::vector<Cells> all(std::begin(forms), std::end(forms));
    return all;
}
template <int number, bool by_rows, bool loads>
bool wmma(Worker& w, Warp& warp, const Instruction& i, int32_t pc, uint32_t lanes) {
    static const Cells& cells = cells_of_forms()[number];
    return all_lanes_take_part(w, warp, lanes, pc) &&
           move_matrix(w, warp, i, pc, forms[number], cells, by_rows, loads);
}

template <int... k> void add_wmma(std::integer_sequence<int, k...>) {
    const MachineOperation loads[][2] = {{wmma<k, false, true>, wmma<k, true, true>}...};
    const MachineOperation stores[][2] = {{wmma<k, false, false>, wmma<k, true, false>}...};
    for (int number = 0; number < form_count; ++number) {
        const std::string shape_and_type = forms[number].name;
        const std::size_t dot = shape_and_type.find('.');
        const std::string shape = shape_and_type.substr(0, dot), type = shape_and_type.substr(dot);
        const std::string use = forms[number].use == A ? "a" : forms[number].use == B ? "b" : "c";
        for (int by_rows = 0; by_rows < 2; ++by_rows)
            for (const char* space : {"", ".global", ".shared"}) {
                const std::string rest = (by_rows ? ".row." : ".col.") + shape + space + type;
                add_operation("wmma.load." + use + rest, loads[number][by_rows], READS);
                if (use == "c")
                    add_operation("wmma.store.d" + rest, stores[number][by_rows], WRITES);
            }
    }
}

const bool registered = [] {
    static const struct {
        const char* count;
        MachineOperation load, load_transposed, store, store_transposed;
    } sizes[] = {
        {"x1", load<1, false>, load<1, true>, store<1, false>, store<1, true>},
        {"x2", load<2, false>, load<2, true>, store<2, false>, store<2, true>},
        {"x4", load<4, false>, load<4, true>, store<4, false>, store<4, true>},
    };
    for (const auto& one : sizes)
        for (const char* tail : {".b16", ".shared.b16"}) {
            add_operation({"ldmatrix.m8n8.", one.count, tail}, one.load, READS);
            add_operation({"ldmatrix.m8n8.", one.count, ".trans", tail}, one.load_transposed,
                          READS);
            add_operation({"stmatrix.m8n8.", one.count, tail}, one.store, READS);
            add_operation({"stmatrix.m8n8.", one.count, ".trans", tail}, one.store_transposed,
                          READS);
        }
    add_operation("movmatrix.m8n8.trans.b16", transpose, WRITES);
    add_wmma(std::make_integer_sequence<int, form_count>());
    return true;
}();

}    // namespace
