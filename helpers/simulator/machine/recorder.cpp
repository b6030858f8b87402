// recorder.cpp -- the record of a launch, and the changes to what its program says
#include "recorder.h"

#include <algorithm>
#include <cstring>

#include "machine.h"

namespace {

std::uint64_t value_of(const Warp& warp, std::int32_t operand, std::uint32_t bytes, int lane,
                       int half = 0) {
    switch (bytes) {
        case 0: return warp.predicate(operand) >> lane & 1;
        case 2: return warp.at<std::uint16_t>(operand)[lane];
        case 4: return warp.at<std::uint32_t>(operand)[lane];
        case 8: return warp.at<std::uint64_t>(operand)[lane];
        default: return warp.at<std::uint64_t>(operand)[2 * lane + half];
    }
}
void set_value(Warp& warp, std::int32_t operand, std::uint32_t bytes, int lane,
               std::uint64_t value) {
    switch (bytes) {
        case 0: {
            std::uint32_t& bits = warp.predicate(operand);
            bits = (bits & ~(1u << lane)) | static_cast<std::uint32_t>(value & 1) << lane;
            break;
        }
        case 2: warp.at<std::uint16_t>(operand)[lane] = static_cast<std::uint16_t>(value); break;
        case 4: warp.at<std::uint32_t>(operand)[lane] = static_cast<std::uint32_t>(value); break;
        default: warp.at<std::uint64_t>(operand)[lane] = value;
    }
}

// Returns from where the address of a change counts.
std::uint64_t start_of(const Worker& w, const Warp& warp, std::uint32_t from, int lane) {
    return from == OF_SHARED  ? window_of(w)
           : from == OF_LOCAL ? reinterpret_cast<std::uint64_t>(warp.local_of(lane))
                              : 0;
}

}    // namespace

void Recorder::begin_launch(const Recording& recording, std::uint32_t instructions) {
    *this = Recorder();
    recording_ = recording;
    is_changed_.assign(instructions, 0);
    for (std::uint32_t k = 0; k < recording.change_count; ++k)
        is_changed_[recording.changes[k].pc] = 1;
    bases_.assign(WARP_SIZE, 0);
}

bool Recorder::holds(const Worker& w, const Warp& warp, const Change& change, int lane) const {
    if (change.block >= 0 && static_cast<std::uint64_t>(change.block) != w.block_linear)
        return false;
    if (change.thread >= 0 && static_cast<std::uint64_t>(change.thread) != warp.thread(lane))
        return false;
    for (std::uint32_t k = 0; k < change.condition_count; ++k) {
        const Condition& one = recording_.conditions[change.first_condition + k];
        if (value_of(warp, one.operand, one.bytes, lane) != one.value) return false;
    }
    return true;
}

// Returns the lanes to which a change applies now.
std::uint32_t Recorder::changed_lanes(const Worker& w, Warp& warp, const Change& change,
                                      std::uint32_t index, std::uint32_t lanes) {
    std::uint32_t found = 0;
    for_lanes(lanes, [&](int lane) {
        if (!holds(w, warp, change, lane)) return;
        if (change.nth >= 0) {
            const std::uint64_t threads = std::uint64_t(w.warps.size()) * WARP_SIZE;
            const std::uint64_t key =
                (w.block_linear * threads + warp.thread(lane)) * recording_.change_count + index;
            if (times_[key]++ != change.nth) return;
        }
        found |= 1u << lane;
    });
    return found;
}

std::uint32_t Recorder::begin(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                              std::uint32_t active, std::uint32_t lanes) {
    const bool met = warp.path().met;
    redirected_ = false;
    if (is_changed_[pc] && !met)
        for (std::uint32_t k = 0; k < recording_.change_count; ++k) {
            const Change& change = recording_.changes[k];
            if (change.pc != pc) continue;
            if (change.kind == TURN && i.guard != 0) {
                lanes ^= changed_lanes(w, warp, change, k, active);
            } else if (change.kind == REDIRECT && i.operand[0] >= 0) {
                const std::uint32_t bytes = i.flags & ADDRESS_32 ? 4 : 8;
                const std::uint64_t window = i.space == SHARED_SPACE ? window_of(w) : 0;
                const std::uint32_t others = changed_lanes(w, warp, change, k, lanes);
                if (others != 0 && !redirected_)
                    for (int lane = 0; lane < WARP_SIZE; ++lane)
                        bases_[lane] = value_of(warp, i.operand[0], bytes, lane);
                redirected_ |= others != 0;
                for_lanes(others, [&](int lane) {
                    const std::uint64_t to = change.value + start_of(w, warp, change.from, lane);
                    set_value(warp, i.operand[0], bytes, lane,
                              to - window - static_cast<std::uint64_t>(i.immediate));
                });
            }
        }
    open_ = false;
    if (!recording_.watched[w.block_linear]) return lanes;
    const Control control = w.decoded[pc].control;
    if (i.guard != 0 && (control == BRANCH_TO || control == RETURN || control == EXIT)) {
        open(w, warp, i, pc, active, IS_DECIDED);
        newer_.push_back(lanes);
    } else if (const std::uint32_t all = met ? warp.path().waiting : lanes; all != 0) {
        open(w, warp, i, pc, all, met ? FINISHES : 0);
    }
    return lanes;
}

void Recorder::open(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                    std::uint32_t lanes, std::uint32_t flags) {
    if (newer_.size() >= recording_.limit / 3) drop_oldest();
    header_ = newer_.size(), open_ = true;
    std::uint64_t addresses[WARP_SIZE];
    if (recording_.has_addresses[pc]) {
        addresses_of(w, warp, i, addresses);
        flags |= HAS_ADDRESSES;
    }
    newer_.push_back(static_cast<std::uint32_t>(pc) | std::uint64_t(lanes) << 32);
    newer_.push_back(warp.number | std::uint64_t(flags) << 16 | w.block_linear << 32);
    if (flags & HAS_ADDRESSES) for_lanes(lanes, [&](int lane) { newer_.push_back(addresses[lane]); });
}

// Makes room for more words, because a third of the limit is full.
void Recorder::drop_oldest() {
    if (mark_in_older_ != 0) {
        kept_.swap(oldest_);
        kept_.insert(kept_.end(), older_.begin(),
                     older_.begin() + static_cast<std::ptrdiff_t>(mark_in_older_));
    }
    cut_ |= !oldest_.empty() || !kept_.empty();
    oldest_.swap(older_), older_.swap(newer_), newer_.clear();
    mark_in_older_ = mark_in_newer_, mark_in_newer_ = 0;
}

void Recorder::append_results(const Warp& warp, std::int32_t pc, std::uint32_t lanes) {
    newer_[header_ + 1] |= std::uint64_t(HAS_VALUES) << 16;
    for (std::uint32_t k = recording_.first[pc]; k < recording_.first[pc + 1]; ++k) {
        const RecordedSlot& slot = recording_.slots[k];
        for_lanes(lanes, [&](int lane) {
            newer_.push_back(value_of(warp, slot.operand, slot.bytes, lane));
            if (slot.bytes == 16) newer_.push_back(value_of(warp, slot.operand, 16, lane, 1));
        });
    }
}

void Recorder::end(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                   std::uint32_t lanes) {
    if (redirected_) {
        const std::uint32_t bytes = i.flags & ADDRESS_32 ? 4 : 8;
        for (int lane = 0; lane < WARP_SIZE; ++lane)
            set_value(warp, i.operand[0], bytes, lane, bases_[lane]);
        redirected_ = false;
    }
    if (is_changed_[pc])
        for (std::uint32_t k = 0; k < recording_.change_count; ++k) {
            const Change& change = recording_.changes[k];
            if (change.pc != pc || change.kind != REPLACE) continue;
            const RecordedSlot& slot = recording_.slots[recording_.first[pc] + change.element];
            for_lanes(changed_lanes(w, warp, change, k, lanes), [&](int lane) {
                set_value(warp, slot.operand, slot.bytes, lane, change.value);
            });
        }
    if (!open_) return;
    open_ = false;
    append_results(warp, pc, lanes);
    if (recording_.until_bytes != 0 && w.decoded[pc].writes && recording_.has_addresses[pc])
        note_store(warp, &newer_[header_ + 2], lanes, std::uint32_t(i.bytes) * i.elements);
}

void Recorder::note_store(const Warp&, const std::uint64_t* addresses, std::uint32_t lanes,
                          std::uint32_t size) {
    const auto count = static_cast<std::uint32_t>(__builtin_popcount(lanes));
    for (std::uint32_t k = 0; k < count; ++k)
        if (addresses[k] < recording_.until + recording_.until_bytes &&
            recording_.until < addresses[k] + size)
            mark_in_newer_ = newer_.size(), mark_in_older_ = 0, kept_.clear();
}

void Recorder::add(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                   std::uint32_t lanes, std::uint32_t flags) {
    if (!recording_.watched[w.block_linear]) return;
    open(w, warp, i, pc, lanes, flags);
    append_results(warp, pc, lanes);
    open_ = false;
}

bool Recorder::other_side_first(Worker& w, Warp& warp, std::int32_t pc,
                                std::uint32_t lanes) const {
    if (!is_changed_[pc]) return false;
    for (std::uint32_t k = 0; k < recording_.change_count; ++k) {
        const Change& change = recording_.changes[k];
        if (change.pc == pc && change.kind == OTHER_SIDE_FIRST &&
            holds(w, warp, change, __builtin_ctz(lanes)))
            return true;
    }
    return false;
}

// Returns the record: where it was cut, the last words, up to the last store to `until` if there
// was one.
const std::vector<std::uint64_t>& Recorder::words() {
    if (joined_) return newer_;
    joined_ = true;
    if (cut_ && mark_in_newer_ != 0) newer_.resize(mark_in_newer_);
    if (cut_ && mark_in_older_ != 0) older_.resize(mark_in_older_), newer_.clear();
    if (cut_ && !kept_.empty()) oldest_.swap(kept_), older_.clear(), newer_.clear();
    oldest_.insert(oldest_.end(), older_.begin(), older_.end());
    oldest_.insert(oldest_.end(), newer_.begin(), newer_.end());
    newer_.swap(oldest_);
    oldest_.clear(), older_.clear(), kept_.clear();
    return newer_;
}
