// stillness.h -- whether a block can still go on: a loop that waits for what no thread changes
#pragma once
#include "machine.h"

// Looks at a block after each round, in which every warp that could run has had a turn. If a block
// has the same registers, the same paths and the same memory as some rounds before, it will have
// them for ever.
class Stillness {
public:
    // Returns a path that will never end, and its warp; null pointers as long as nothing says so.
    struct Stuck {
        Warp* warp = nullptr;
        const Path* path = nullptr;
    };
    Stuck after_round(Worker& w);
    void end(Worker& w);

private:
    struct Snapshot {
        std::vector<char> registers;
        std::vector<std::uint64_t> paths;
        bool operator==(const Snapshot& other) const {
            return registers == other.registers && paths == other.paths;
        }
    };
    std::uint64_t rounds_ = 0, begin_ = 0;    // begin_: of the snapshot; 0: there is none
    std::uint32_t yields_ = 0;
    Snapshot before_;

    static Snapshot snapshot(const Worker& w);
    static std::uint32_t yields_of(const Worker& w);
};
