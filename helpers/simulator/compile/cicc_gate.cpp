// Loaded into cicc before its own libraries (LD_PRELOAD): it makes a server of cicc.
//
// cicc opens the source and then reads the prelude, with all of CUDA's headers; its last line
// includes "halo_gate.h". When cicc opens that file, this library takes requests from standard
// input instead, and each goes on in a child of its own: there the source that cicc has opened is
// the request's, and what cicc says goes to a file. So headers are read once, and each source is
// translated by a process in the same state.
//
// Messages are lists of texts, as in nvrtc_worker.py. A request is a source. Its answer has cicc's
// exit status (below 0: the signal that ended it), the PTX, and cicc's messages. cicc writes the
// PTX to the file text.ptx of its working folder.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

FILE* source;  // what cicc has opened; an empty file
bool is_child;

bool ends_with(const char* text, const char* end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool read_all(int from, void* bytes, size_t count) {
    for (char* at = static_cast<char*>(bytes); count;) {
        ssize_t got = read(from, at, count);
        if (got <= 0) return false;
        at += got, count -= size_t(got);
    }
    return true;
}

void write_all(int to, const void* bytes, size_t count) {
    for (const char* at = static_cast<const char*>(bytes); count;) {
        ssize_t put = write(to, at, count);
        if (put <= 0) _exit(1);
        at += put, count -= size_t(put);
    }
}

void write_number(int to, uint64_t number) { write_all(to, &number, sizeof number); }

void write_text(int to, const char* text, size_t length) {
    write_number(to, length);
    write_all(to, text, length);
}

void write_file(int to, const char* path) {
    int file = open(path, O_RDONLY);
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    char* text = static_cast<char*>(malloc(size_t(size) + 1));
    if (!text || (size && (lseek(file, 0, SEEK_SET) != 0 || !read_all(file, text, size_t(size)))))
        _exit(1);
    write_text(to, text, size_t(size));
    free(text);
    if (file >= 0) close(file);
}

// A new file of this name, open for reading and writing.
int new_file(const char* path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) _exit(1);
    return file;
}

// Makes a file of the next request's source. Ends this process if there is none.
int next_source(int requests) {
    uint64_t count = 0, length = 0;
    if (!read_all(requests, &count, sizeof count) || count != 1) _exit(0);
    if (!read_all(requests, &length, sizeof length)) _exit(0);
    char* text = static_cast<char*>(malloc(length + 1));
    if (!text || !read_all(requests, text, length)) _exit(0);
    int file = new_file("request");
    write_all(file, text, length);
    free(text);
    lseek(file, 0, SEEK_SET);
    return file;
}

void become_child(pid_t server, int text, int requests, int answers) {
    is_child = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) _exit(1);  // it has ended meanwhile
    close(requests);
    close(answers);
    dup2(text, fileno(source));
    close(text);
    __fpurge(source);  // it was at the end of an empty file
    clearerr(source);
    int log = new_file("log");
    dup2(log, 1);
    dup2(log, 2);
    close(log);
}

// Returns in a child for each request, and never in the server.
void serve() {
    pid_t server = getpid();
    int requests = dup(0), answers = dup(1);
    for (;;) {
        int text = next_source(requests);
        unlink("text.ptx");
        pid_t child = fork();
        if (child == 0) return become_child(server, text, requests, answers);
        close(text);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) _exit(1);
        char number[16];
        int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        int digits = snprintf(number, sizeof number, "%d", code);
        write_number(answers, 3);
        write_text(answers, number, size_t(digits));
        write_file(answers, "text.ptx");
        write_file(answers, "log");
    }
}

using Open = FILE* (*)(const char*, const char*);

FILE* opened(Open next, const char* path, const char* mode) {
    if (!is_child && source && ends_with(path, "/halo_gate.h")) serve();
    FILE* file = next(path, mode);
    if (!is_child && ends_with(path, "/text.ii")) source = file;
    return file;
}

}  // namespace

extern "C" FILE* fopen(const char* path, const char* mode) {
    static Open next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "fopen"));
    return opened(next, path, mode);
}

extern "C" FILE* fopen64(const char* path, const char* mode) {
    static Open next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "fopen64"));
    return opened(next, path, mode);
}
