// builtins.cpp -- the functions that every kernel can call: printf, assert, malloc and free
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "machine.h"

namespace {

constexpr std::size_t printed_limit = 1 << 20, text_limit = 4096;
constexpr std::size_t gap_bytes = 16;    // GAP_BYTES in ptx/rows.py

// The arguments of a call, as offsets in the caller's local memory.
struct Arguments {
    const std::int32_t* at;
    std::int32_t returns, count;
    const std::int32_t* first;

    explicit Arguments(const Worker& w, const Instruction& call) {
        at = w.launch.program.operands + call.more;
        returns = at[0];
        first = at + 1 + 2 * returns;
        count = first[0];
    }
    std::uint32_t offset(int k) const { return static_cast<std::uint32_t>(first[1 + 2 * k]); }
    std::uint32_t return_offset() const { return static_cast<std::uint32_t>(at[1]); }
};

template <class T> T read_local(Warp& warp, int lane, std::uint32_t offset) {
    T value;
    std::memcpy(&value, warp.local_of(lane) + warp.frame().local + offset, sizeof value);
    return value;
}
template <class T>
void write_local(Worker& w, Warp& warp, int lane, std::uint32_t offset, T value) {
    char* place = warp.local_of(lane) + warp.frame().local + offset;
    std::memcpy(place, &value, sizeof value);
    std::memset(w.local_written.data() + (place - w.local.data()), 1, sizeof value);
}

// Returns how many bytes a thread can read from a generic address on, `most` at most.
std::size_t readable(const Worker& w, std::uint64_t address, std::size_t most) {
    const auto local = reinterpret_cast<std::uint64_t>(w.local.data());
    if (!w.local.empty() && address - local < w.local.size())
        return std::min<std::size_t>(most, w.local.size() - (address - local));
    const Region* region = memory.find(address);
    return region == nullptr ? 0 : std::min<std::size_t>(most, region->end - address);
}

// Reads a string of the kernel. It ends at the limit or with its array, at the latest.
std::string text_at(const Worker& w, std::uint64_t address) {
    std::size_t bytes = readable(w, address, text_limit);
    const auto* start = reinterpret_cast<const char*>(address);
    return bytes == 0 ? std::string() : std::string(start, strnlen(start, bytes));
}

// ---- printf ----

// The arguments of one lane's printf, one after another, each at a multiple of its size.
class Values {
public:
    Values(Worker& w, std::uint64_t address)
        : worker_(&w), address_(address), bytes_(readable(w, address, text_limit)) {}
    template <class T> T next() {
        at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value{};
        if (at_ + sizeof(T) <= bytes_) {
            std::memcpy(&value, reinterpret_cast<const char*>(address_ + at_), sizeof value);
            use_marked_bytes(*worker_, address_ + at_, sizeof value);
        }
        at_ += sizeof(T);
        return value;
    }

private:
    Worker* worker_;
    std::uint64_t address_;
    std::size_t bytes_, at_ = 0;
};

template <class... T> void append(std::string& text, const char* format, T... value) {
    char buffer[512];
    int length = std::snprintf(buffer, sizeof buffer, format, value...);
    if (length > 0)
        text.append(buffer,
                    std::min<std::size_t>(static_cast<std::size_t>(length), sizeof buffer - 1));
}

// One conversion, from `%` to its letter. Widths and precisions have limits, so that every text is
// finite.
std::string formatted(const Worker& w, std::string specification, Values& values) {
    std::string text, plain;
    bool wide = false;
    for (char c : specification) {
        if (c == '*') {
            plain += std::to_string(std::max(-256, std::min(256, values.next<int>())));
        } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
            wide = true;
        } else if (c != 'h' && c != 'L') {
            plain += c;
        }
    }
    const char letter = plain.back();
    std::string digits;
    for (char c : plain) digits = c >= '0' && c <= '9' ? digits + c : std::string();
    switch (letter) {
        case '%': return "%";
        case 'd':
        case 'i':
            plain.insert(plain.size() - 1, "ll");
            append(text, plain.c_str(),
                   wide ? static_cast<long long>(values.next<std::int64_t>())
                        : static_cast<long long>(values.next<std::int32_t>()));
            break;
        case 'u':
        case 'o':
        case 'x':
        case 'X':
            plain.insert(plain.size() - 1, "ll");
            append(text, plain.c_str(),
                   wide ? static_cast<unsigned long long>(values.next<std::uint64_t>())
                        : static_cast<unsigned long long>(values.next<std::uint32_t>()));
            break;
        case 'c': append(text, plain.c_str(), values.next<std::int32_t>()); break;
        case 's':
            append(text, plain.c_str(), text_at(w, values.next<std::uint64_t>()).c_str());
            break;
        case 'p':
            append(text, plain.c_str(), reinterpret_cast<void*>(values.next<std::uint64_t>()));
            break;
        case 'a':
        case 'A':
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G': append(text, plain.c_str(), values.next<double>()); break;
        default: text = specification;
    }
    return text;
}

bool numbers_are_small(const std::string& specification) {
    int digits = 0;
    for (char c : specification) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        if (digits > 3) return false;
    }
    return true;
}

std::string printed(const Worker& w, const std::string& format, Values values) {
    std::string text;
    for (std::size_t k = 0; k < format.size() && text.size() < text_limit; ++k) {
        if (format[k] != '%') {
            text += format[k];
            continue;
        }
        std::size_t end = format.find_first_of("%diouxXeEfFgGaAcsp", k + 1);
        if (end == std::string::npos) return text + format.substr(k);
        std::string specification = format.substr(k, end - k + 1);
        text +=
            numbers_are_small(specification) ? formatted(w, specification, values) : specification;
        k = end;
    }
    return text;
}

void print(Worker& w, Warp& warp, int lane, const Arguments& arguments) {
    const auto format = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
    const auto values = read_local<std::uint64_t>(warp, lane, arguments.offset(1));
    const std::string text = printed(w, text_at(w, format), Values(w, values));
    if (w.printed.size() + text.size() <= printed_limit) w.printed += text;
    else if (w.printed.size() < printed_limit) (w.printed += "...\n").resize(printed_limit, ' ');
    if (arguments.returns > 0)
        write_local<std::int32_t>(w, warp, lane, arguments.return_offset(),
                                  static_cast<std::int32_t>(text.size()));
}

// ---- memory ----

void allocate(Worker& w, Warp& warp, int lane, std::int32_t pc, const Arguments& arguments) {
    const auto bytes = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
    std::uint64_t limit = w.launch.heap_bytes;
    if (!w.launch.keeps_heap)    // such a launch has a heap of its own
        for (const Heap::Block& block : heap.blocks())
            if (!block.is_of_launch) limit += block.region->bytes();
    write_local(
        w, warp, lane, arguments.return_offset(),
        heap.allocate(bytes, limit, w.place(warp, lane, pc, STORE), w.first_block));
}

bool release(Worker& w, Warp& warp, int lane, std::int32_t pc, const Arguments& arguments) {
    const auto address = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
    if (address == 0) return true;
    if (heap.release(address)) {
        for (Recent& recent : w.recent) recent = {};
        return true;
    }
    w.fault(warp, lane, pc, WRONG_FREE,
            heap.was_freed(address) ? "frees memory that has been freed before"
                  : "frees an address that malloc and new did not give");
    return false;
}

}    // namespace

// Runs function k of BUILTINS in ptx/encode.py.
bool run_builtin(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
                 int builtin) {
    enum { PRINTF, ASSERT, MALLOC, FREE, GAP_BEHIND_ARRAY, END_OF_GAP, LIFE, END_OF_LIFE, OVERFLOW, SUM };
    if (w.one_of_many) {    // printf keeps the order of blocks, and there is one heap
        w.give_up();
        return false;
    }
    w.has_changed = true;
    const Arguments arguments(w, i);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        switch (builtin) {
            case PRINTF: print(w, warp, lane, arguments); break;
            case ASSERT:
                w.fault(
                    warp, lane, pc, ASSERTION,
                    text_at(w, read_local<std::uint64_t>(warp, lane, arguments.offset(0))).c_str());
                return false;
            case MALLOC: allocate(w, warp, lane, pc, arguments); break;
            case FREE:
                if (!release(w, warp, lane, pc, arguments)) return false;
                break;
            case GAP_BEHIND_ARRAY:
            case END_OF_GAP: {
                const auto gap = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
                if (gap + gap_bytes > w.launch.local_bytes) return false;
                const std::size_t place =
                    static_cast<std::size_t>(warp.local_of(lane) - w.local.data()) + gap;
                std::memset(w.local_written.data() + place, builtin == END_OF_GAP ? 0 : GAP,
                            gap_bytes);
                w.has_gaps = true;
                break;
            }
            case LIFE:
            case END_OF_LIFE: {
                const auto offset = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
                const auto about = read_local<std::uint64_t>(warp, lane, arguments.offset(1));
                const std::uint64_t bytes = about >> 8;
                if (offset + bytes > w.launch.local_bytes) return false;
                std::uint8_t* const first = w.local_written.data() +
                                            (warp.local_of(lane) - w.local.data()) + offset;
                if (builtin == LIFE)
                    std::replace_if(
                        first, first + bytes, [](std::uint8_t b) { return b >= DEAD; },
                        std::uint8_t(0));
                else std::memset(first, static_cast<int>(DEAD + (about & 0xFF)), bytes);
                w.has_gaps = true;
                break;
            }
            case OVERFLOW: {
                Finding finding;
                finding.kind = INDEX_OVERFLOW;
                finding.offset = read_local<std::int64_t>(warp, lane, arguments.offset(0));
                finding.here = w.place(warp, lane, pc, LOAD);
                w.findings.add(finding);
                break;
            }
            case SUM: {
                const auto address = read_local<std::uint64_t>(warp, lane, arguments.offset(0));
                const Region* const region = memory.find(address);
                if (region == nullptr) break;
                Finding finding;
                finding.kind = INT_SUM, finding.size = sizeof(std::int32_t);
                finding.region = region->id;
                finding.offset = static_cast<std::int64_t>(address - region->start);
                finding.here = w.place(warp, lane, pc, ATOMIC);
                w.int_sums.add(address,
                               read_local<std::int32_t>(warp, lane, arguments.offset(1)),
                               read_local<std::int32_t>(warp, lane, arguments.offset(2)), finding,
                               w.findings);
                break;
            }
            default: return false;
        }
    }
    return true;
}
