// pending_reads.h -- reads of shared memory that the race cells do not know yet
//
// A read collides only with a write, and in most phases between two barriers threads only read. So
// reads of whole warps wait in a list. They enter the cells when another access needs these: before
// the first write of the phase, or before a read that is not of a whole warp. The cells are then as
// if every read had entered at once. At a barrier the list is dropped, because the barrier orders
// its reads before all later accesses.
#pragma once
#include <cstdint>
#include <memory>

#include "shapes.h"

// A read of all lanes whose halves have known shapes. when: the clock of all lanes; who: the
// instruction and the first lane's thread, as in a RaceCell.
struct PendingRead {
    std::uint64_t places[2];    // addresses of lanes 0 and 16
    std::uint32_t when, who, size;
    Shapes shapes;
};

class PendingReads {
public:
    // Whether a read of this turn (Worker::turn) may wait.
    bool may_wait(std::uint32_t turn) {
        if (written_ == turn) return false;
        if (turn_ != turn) count_ = 0, turn_ = turn;
        if (reads_ == nullptr) reads_ = std::make_unique<PendingRead[]>(limit);
        return count_ < limit;
    }
    // Returns the place of the next read, for the caller to fill in: a processor waits where it
    // copies a structure whose parts it has just written.
    PendingRead& next() { return reads_[count_++]; }
    // A thread writes in this turn: later reads of the turn may collide with it.
    void note_write(std::uint32_t turn) { written_ = turn; }
    bool empty() const { return count_ == 0; }
    // Calls f(read) for the reads of this turn, and forgets all.
    template <class F> void take(std::uint32_t turn, F f) {
        if (turn_ == turn)
            for (std::size_t k = 0; k < count_; ++k) f(reads_[k]);
        count_ = 0;
    }

private:
    static constexpr std::size_t limit = 1024;    // then they enter the cells: 32 KB
    std::unique_ptr<PendingRead[]> reads_;    // the first count_ wait
    std::size_t count_ = 0;
    std::uint32_t turn_ = 0, written_ = 0;
};
