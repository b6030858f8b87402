// move_bodies.cu -- structures with gaps
struct Body { float mass; double x; int id; };
extern "C" __global__ void move_bodies(Body *b, int n) { int i = threadIdx.x; if (i < n) b[i].x += b[i].mass * b[i].id; }
