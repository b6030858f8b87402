// hash_insert.cu -- keys inserted in an open table by compare-and-swap, linear probing
#define EMPTY 0xffffffffu
__device__ unsigned slot_of(unsigned k, unsigned capacity)
{
    k ^= k >> 16;
    k *= 0x85ebca6b;
    k ^= k >> 13;
    k *= 0xc2b2ae35;
    k ^= k >> 16;
    return k & (capacity - 1);
}

struct Entry {
    unsigned key;
    unsigned value;
};

extern "C" __global__ void hash_insert(Entry* table, const Entry* items, int n, unsigned capacity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = items[i].key, value = items[i].value, slot = slot_of(key, capacity);
    while (true) {
        unsigned before = atomicCAS(&table[slot].key, EMPTY, key);
        if (before == EMPTY || before == key) {
            table[slot].value = value;
            return;
        }
        slot = (slot + 1) & (capacity - 1);
    }
}
