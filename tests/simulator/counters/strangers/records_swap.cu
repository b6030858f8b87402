// records_swap.cu -- structures of mixed members (32 bytes with gaps), copied whole to the mirrored
// place, some members changed
struct Record {
    char tag;
    short id;
    double value;
    char name[5];
    int next;
};

extern "C" __global__ void records_swap(Record* out, const Record* in, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        Record r = in[n - 1 - i];
        if (r.tag > 'm') {
            r.value = -r.value;
            r.name[1] = r.tag;
        }
        r.next = in[i].next + r.id;
        out[i] = r;
    }
}
