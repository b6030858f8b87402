// hash_lookup.cu -- keys looked up in an open table of 64-bit entries, chains of different lengths
extern "C" __global__ void hash_lookup(int* found, const unsigned long long* table,
                                       const unsigned* keys, int n, int capacity)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i];
    int slot = key % capacity, answer = -1;
    for (int probe = 0; probe < capacity; ++probe) {
        unsigned long long e = table[slot];
        if (e == 0) break;
        if ((unsigned)(e >> 32) == key) {
            answer = (int)e;
            break;
        }
        if (++slot == capacity) slot = 0;
    }
    found[i] = answer;
}
