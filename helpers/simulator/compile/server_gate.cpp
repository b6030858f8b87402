// Loaded into a program of NVIDIA's before its own libraries (LD_PRELOAD): it makes a server of it.
//
// The program runs up to where it opens the file SERVER_GATE. There this library takes requests from
// standard input instead, and each goes on in a child of its own: the request is what the child
// reads in the file SERVER_SOURCE of the working folder, whether the program has opened that file
// before or opens it now, and what the program says goes to a file. So the work before the gate is
// done once, and each request meets a process in the same state.
//
// Messages are lists of texts, as in nvrtc_worker.py. A request is one text. Its answer has the
// program's exit status (below 0: the signal that ended it), the bytes of the file SERVER_RESULT
// there, and the program's messages.

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

const char *gate_path = getenv("SERVER_GATE"), *source_path = getenv("SERVER_SOURCE"),
           *result_path = getenv("SERVER_RESULT");
FILE* source;  // if the program has opened it before the gate: an empty file
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

// Makes the source of the next request. Ends this process if there is none.
void next_source(int requests) {
    uint64_t count = 0, length = 0;
    if (!read_all(requests, &count, sizeof count) || count != 1) _exit(0);
    if (!read_all(requests, &length, sizeof length)) _exit(0);
    char* text = static_cast<char*>(malloc(length + 1));
    if (!text || !read_all(requests, text, length)) _exit(0);
    int file = open(source_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) _exit(1);
    write_all(file, text, length);
    close(file);
    free(text);
}

void become_child(pid_t server, int requests, int answers) {
    is_child = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) _exit(1);  // it has ended meanwhile
    close(requests);
    close(answers);
    if (source) {  // it was at its end; the position is common to all children
        lseek(fileno(source), 0, SEEK_SET);
        __fpurge(source);
        clearerr(source);
    }
    int log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (log < 0) _exit(1);
    dup2(log, 1);
    dup2(log, 2);
    close(log);
}

// Returns in a child for each request, and never in the server.
void serve() {
    pid_t server = getpid();
    int requests = dup(0), answers = dup(1);
    for (;;) {
        next_source(requests);
        unlink(result_path);
        pid_t child = fork();
        if (child == 0) return become_child(server, requests, answers);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) _exit(1);
        char number[16];
        int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        int digits = snprintf(number, sizeof number, "%d", code);
        write_number(answers, 3);
        write_text(answers, number, size_t(digits));
        write_file(answers, result_path);
        write_file(answers, "log");
    }
}

using Open = FILE* (*)(const char*, const char*);

FILE* opened(Open next, const char* path, const char* mode) {
    if (!is_child && ends_with(path, gate_path)) serve();
    FILE* file = next(path, mode);
    if (!is_child && ends_with(path, source_path)) source = file;
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
