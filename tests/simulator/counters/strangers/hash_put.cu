// hash_put.cu -- keys put into an open table by compare-and-swap
extern "C" __global__ void hash_put(unsigned* keys, unsigned* values, const unsigned* key,
                                    const unsigned* value, int n, int capacity)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned k = key[i];
    unsigned slot = (k * 2654435761u) % capacity;
    while (true) {
        const unsigned found = atomicCAS(&keys[slot], 0u, k);
        if (found == 0u || found == k) {
            values[slot] = value[i];
            return;
        }
        slot = (slot + 1) % capacity;
    }
}
