// races.h -- observer of races: two threads access the same bytes, at least one writes, not both
// use an atomic, and nothing orders the two
//
// Threads that write the same value to the same bytes do not race: the bytes are the same, no
// matter which thread comes last.
//
// The machine runs the threads of a block one after another up to the next barrier. So the second
// thread finds the first one's access in the cell. There is no barrier between blocks: a write to
// bytes that another block accesses is a race, unless an atomic after a __threadfence() orders the
// two (order.h).
#pragma once
#include "findings.h"
#include "memory.h"

// The thread of an access. Its clock ticks at each barrier, __syncwarp() and __threadfence() that
// it passes.
struct Toucher {
    std::uint32_t block, when,
        turn;    // turn: the clock at the block's last barrier; what is older is ordered by it
    std::uint32_t who;
    static std::uint32_t pack(std::uint32_t pc, std::uint32_t thread) {
        return pc << 10 | thread;
    }    // 4 M instructions, 1,024 threads
    static std::uint32_t thread_of(std::uint32_t who) { return who & 1023; }
    static std::uint32_t pc_of(std::uint32_t who) { return who >> 10; }
    std::uint32_t thread() const { return thread_of(who); }
};

// An earlier access that may collide with the present one, by the last of the threads that made it.
struct Earlier {
    std::uint32_t block, when, who;
    Access access;
    std::uint8_t flags;    // Races::Flag
};

class Races {
public:
    enum Flag : std::uint8_t {
        BY_ATOMIC = 1,
        MANY_THREADS = 2,
        MANY_BLOCKS = 4,
        MANY_WARPS = 8,
        PLAIN_BEFORE = 16,
        WITHIN_BLOCK = 32
    };

    // Whether the last write to a cell may collide with the present access. `comes_before` in
    // race_watch.cpp, which is slow, decides whether it does. within_block: an atomic that only
    // threads of its block see as one (atomicAdd_block).
    static bool meets_write(const RaceCell& cell, bool atomic, const Toucher& me,
                            std::uint32_t oldest, bool within_block = false) {
        if (cell.write_block < oldest) return false;
        if (atomic && cell.write_block != me.block &&
            (within_block || (cell.write_flags & WITHIN_BLOCK)))
            return true;
        if (cell.write_block == me.block && !(cell.write_flags & PLAIN_BEFORE)) {
            if (cell.write_when < me.turn) return (cell.write_flags & MANY_BLOCKS) && !atomic;
            if (Toucher::thread_of(cell.write_who) == me.thread() &&
                !(cell.write_flags & (MANY_THREADS | MANY_BLOCKS)))
                return false;
        }
        return !(atomic && (cell.write_flags & BY_ATOMIC)) || (cell.write_flags & PLAIN_BEFORE);
    }
    static bool meets_read(const RaceCell& cell, const Toucher& me, std::uint32_t oldest) {
        if (cell.read_block < oldest) return false;
        if (cell.read_block != me.block || (cell.read_flags & MANY_BLOCKS)) return true;
        return cell.read_when >= me.turn && (Toucher::thread_of(cell.read_who) != me.thread() ||
                                             (cell.read_flags & MANY_THREADS));
    }
    static Earlier last_write(const RaceCell& cell) {
        return {cell.write_block, cell.write_when, cell.write_who,
                cell.write_flags & BY_ATOMIC ? ATOMIC : STORE, cell.write_flags};
    }
    static Earlier last_read(const RaceCell& cell, const Toucher& me) {
        const bool is_own = Toucher::thread_of(cell.read_who) == me.thread();
        const bool is_ordered = (cell.read_flags & MANY_WARPS) && is_same_warp(cell.read_who, me);
        const bool own = cell.read_block == me.block && (is_own || is_ordered);
        return {cell.read_block, cell.read_when, own ? cell.first_reader : cell.read_who, LOAD,
                cell.read_flags};
    }
    // equal: a plain write stores the value that is there already, so the cell must remember the
    // earlier writers, too.
    static void remember_write(RaceCell& cell, bool atomic, const Toucher& me, std::uint32_t oldest,
                               bool equal = false) {
        std::uint8_t flags = atomic ? BY_ATOMIC : 0;
        if (equal) {
            flags |= cell.write_flags & (MANY_THREADS | MANY_WARPS | MANY_BLOCKS);
            flags |= cell.write_block == me.block ? company(cell.write_who, me) : MANY_BLOCKS;
        }
        if (atomic && cell.write_block >= oldest && (cell.write_flags & BY_ATOMIC)) {
            bool same_block = cell.write_block == me.block,
                 same_turn = same_block && cell.write_when >= me.turn;
            flags |= cell.write_flags & (MANY_BLOCKS | PLAIN_BEFORE);
            if (!same_block) flags |= MANY_BLOCKS;
            if (same_turn)
                flags |=
                    (cell.write_flags & (MANY_THREADS | MANY_WARPS)) | company(cell.write_who, me);
        }
        cell.write_flags = flags;
        cell.write_block = me.block, cell.write_when = me.when, cell.write_who = me.who;
    }
    // An atomic is about to cover a plain write of the same block, which other threads' atomics may
    // still race with.
    static bool covers_plain_write(const RaceCell& cell, const Toucher& me, std::uint32_t oldest) {
        return cell.write_block == me.block && cell.write_block >= oldest &&
               !(cell.write_flags & BY_ATOMIC);
    }
    static void remember_read(RaceCell& cell, const Toucher& me, std::uint32_t oldest) {
        bool same_block = cell.read_block == me.block;
        if (same_block && cell.read_when >= me.turn) {
            if (cell.read_who == me.who && cell.read_when == me.when) return;
            cell.read_flags |= company(cell.first_reader, me);
            cell.read_when = me.when;
            // The two readers that the cell knows are of two warps, if there were several: whoever
            // writes next, one of them is not of its warp.
            if ((cell.read_flags & MANY_WARPS) && is_same_warp(cell.first_reader, me)) return;
        } else {
            bool others =
                cell.read_block >= oldest && (!same_block || (cell.read_flags & MANY_BLOCKS));
            cell.read_flags = others ? MANY_BLOCKS : 0;
            cell.first_reader = me.who;
            cell.read_block = me.block;
        }
        cell.read_when = me.when, cell.read_who = me.who;
    }
    // Whether an access of a plain load or store cannot collide: all that others of its block did
    // is older than the last barrier, and other blocks were not here.
    template <bool write>
    static bool is_quiet(const RaceCell& cell, std::uint32_t block, std::uint32_t turn,
                         std::uint32_t when, std::uint32_t who, std::uint32_t oldest) {
        const bool write_is_over = cell.write_when < turn || (is_same_thread(cell.write_who, who) &&
                                                              !(cell.write_flags & MANY_THREADS));
        const bool unwritten =
            cell.write_block < oldest || (cell.write_block == block && write_is_over &&
                                          !(cell.write_flags & (MANY_BLOCKS | PLAIN_BEFORE)));
        const bool read_before = cell.read_when < turn;
        if (!write)
            return unwritten && (cell.read_block != block || read_before || cell.read_when == when);
        const bool read_is_over = read_before || (is_same_thread(cell.read_who, who) &&
                                                  !(cell.read_flags & MANY_THREADS));
        return unwritten &&
               (cell.read_block < oldest ||
                (cell.read_block == block && read_is_over && !(cell.read_flags & MANY_BLOCKS)));
    }
    static void write_quietly(RaceCell& cell, std::uint32_t block, std::uint32_t when,
                              std::uint32_t who) {
        cell.write_flags = 0, cell.write_block = block, cell.write_when = when,
        cell.write_who = who;
    }
    static void read_quietly(RaceCell& cell, std::uint32_t block, std::uint32_t turn,
                             std::uint32_t when, std::uint32_t who, std::uint32_t oldest) {
        if (cell.read_block == block && cell.read_when >= turn) {
            const std::uint32_t apart =
                Toucher::thread_of(cell.first_reader) ^ Toucher::thread_of(who);
            const std::uint8_t company = apart == 0   ? 0
                                         : apart < 32 ? MANY_THREADS
                                                      : MANY_THREADS | MANY_WARPS;
            if ((cell.read_flags & company) == company)
                return;    // two readers are known: a third says nothing new
            cell.read_flags |= company;
        } else {
            const bool others = cell.read_block >= oldest &&
                                (cell.read_block != block || (cell.read_flags & MANY_BLOCKS));
            cell.read_flags = others ? MANY_BLOCKS : 0;
            cell.first_reader = who, cell.read_block = block, cell.read_when = when;
        }
        cell.read_who = who;
    }
    // Whether readers of this turn, all in one warp, came before `me` by a __syncwarp(): then only
    // the present read counts.
    static void supersede_reads(RaceCell& cell, const Toucher& me, const std::uint32_t* after) {
        std::uint32_t last = Toucher::thread_of(cell.read_who),
                      first = Toucher::thread_of(cell.first_reader);
        if ((cell.read_flags & MANY_WARPS) || last >> 5 != me.thread() >> 5 ||
            first >> 5 != me.thread() >> 5)
            return;
        if ((last == me.thread() || cell.read_when < after[last & 31]) &&
            (first == me.thread() || cell.read_when < after[first & 31]))
            cell.read_flags &= MANY_BLOCKS, cell.first_reader = cell.read_who = me.who;
    }
    // If several workers run blocks at the same time, blocks exchange only the two block words of a
    // cell. An even number is a block; the odd number after it means that others have read the cell
    // before. A thread announces itself by an atomic operation before it reads the other word, so
    // that at least one of two colliding threads sees the other. A cell has details only of the
    // thread's own block. Returns true if there may be a race; a run on one worker must find it.
    template <bool write>
    static bool collides(RaceCell& cell, const Toucher& me, std::uint32_t oldest) {
        std::uint32_t written = __atomic_load_n(&cell.write_block, __ATOMIC_SEQ_CST);
        std::uint32_t read = __atomic_load_n(&cell.read_block, __ATOMIC_SEQ_CST);
        if (write) {
            if (written != me.block &&
                __atomic_exchange_n(&cell.write_block, me.block, __ATOMIC_SEQ_CST) >= oldest)
                return true;
            if (written == me.block && meets_write(cell, false, me, oldest)) return true;
            read = __atomic_load_n(&cell.read_block, __ATOMIC_SEQ_CST);
            if (read >= oldest && (read != me.block || meets_read(cell, me, oldest))) return true;
            cell.write_when = me.when, cell.write_who = me.who, cell.write_flags = 0;
            return false;
        }
        bool by_many = read >= oldest && (read & 1);
        if (!by_many) {
            bool first = read != me.block;
            while (read != me.block && !(read >= oldest && (read & 1))) {
                std::uint32_t next = me.block | (read >= oldest ? 1 : 0);
                if (__atomic_compare_exchange_n(&cell.read_block, &read, next, false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                    read = next, by_many = next & 1;
                if (by_many) break;
            }
            if (!by_many && read == me.block) remember_own_read(cell, me, first);
        }
        written = __atomic_load_n(&cell.write_block, __ATOMIC_SEQ_CST);
        return written >= oldest && (written != me.block || meets_write(cell, false, me, oldest));
    }

    // The same for an update that commutes with others of its kind (atomics.cpp). `updates` is a
    // block number of no block: a cell that has it was accessed by such updates alone.
    static bool collides_with_update(RaceCell& cell, std::uint32_t updates, std::uint32_t oldest) {
        if (__atomic_load_n(&cell.write_block, __ATOMIC_SEQ_CST) != updates) {
            const std::uint32_t written =
                __atomic_exchange_n(&cell.write_block, updates, __ATOMIC_SEQ_CST);
            if (written >= oldest && written != updates) return true;
        }
        return __atomic_load_n(&cell.read_block, __ATOMIC_SEQ_CST) >= oldest;
    }

private:
    static bool is_same_warp(std::uint32_t who, const Toucher& me) {
        return Toucher::thread_of(who) >> 5 == me.thread() >> 5;
    }
    static bool is_same_thread(std::uint32_t who, std::uint32_t other) {
        return Toucher::thread_of(who ^ other) == 0;
    }
    static void remember_own_read(RaceCell& cell, const Toucher& me, bool first) {
        if (first || cell.read_when < me.turn) cell.read_flags = 0, cell.first_reader = me.who;
        else cell.read_flags |= company(cell.first_reader, me);
        cell.read_when = me.when, cell.read_who = me.who;
    }
    static std::uint8_t company(std::uint32_t who, const Toucher& me) {
        std::uint32_t thread = Toucher::thread_of(who);
        return thread == me.thread()             ? 0
               : thread >> 5 == me.thread() >> 5 ? MANY_THREADS
                                                 : MANY_THREADS | MANY_WARPS;
    }
};
