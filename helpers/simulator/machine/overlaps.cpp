// overlaps.cpp -- stores into one `extern __shared__` array that replace the values of another one
#include "overlaps.h"

#include <algorithm>

#include "access.h"

namespace {

constexpr std::uint32_t any_name = 255;    // the encoder does not know which array this is

Access access_of(const Worker& w, std::int32_t pc) {
    const Decoded& decoded = w.decoded[pc];
    if (decoded.machine == run_load) return LOAD;
    return decoded.machine == run_store ? STORE : ATOMIC;
}

}    // namespace

void Overlaps::begin_launch(const Worker& w) {
    const bool is_asked = (w.observe & INITIALISATION) && w.launch.dynamic_shared > 0;
    names_ = is_asked ? w.launch.program.shared_names : nullptr;
    bytes_.assign(is_active() ? w.launch.dynamic_shared : 0, Byte());
    is_meant_ = false;
}

void Overlaps::begin_block() { std::fill(bytes_.begin(), bytes_.end(), Byte()); }

bool Overlaps::is_lost(Byte& byte, std::uint32_t name) {
    if (byte.name == 0 || byte.name == name) return false;
    if (byte.lost >> name & 1) return !is_meant_;
    is_meant_ = true;
    return false;
}

void Overlaps::watch(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                     std::uint32_t lanes) {
    const std::uint32_t name = names_[pc];
    if (name == 0) return;
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, addresses);
    const Region& region = *w.shared.back();    // the dynamic memory
    const Access access = access_of(w, pc);
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        if (!region.holds(addresses[lane], size)) continue;
        const std::uint64_t first = addresses[lane] - region.start;
        for (std::uint64_t k = first; k < first + size; ++k) {
            Byte& byte = bytes_[k];
            if (access != STORE && name != any_name && is_lost(byte, name)) {
                Finding finding;
                finding.kind = OVERLAP, finding.region = region.id, finding.size = size;
                finding.offset = static_cast<std::int64_t>(first);
                finding.here = w.place(warp, lane, pc, access);
                finding.other = finding.here;
                finding.other.pc = byte.pc, finding.other.thread = byte.thread;
                finding.other.access = STORE;
                w.findings.add(finding);
                break;
            }
            if (access == LOAD) continue;
            if (name == any_name) {
                byte = Byte();
                continue;
            }
            if (byte.name != 0 && byte.name != name) byte.lost |= 1u << byte.name;
            byte.lost &= ~(1u << name);
            byte.name = name, byte.pc = static_cast<std::uint32_t>(pc);
            byte.thread = warp.thread(lane);
        }
    }
}
