// coroutine.cc TASKS YIELDS [ring]: the same as protothread.c with C++20 coroutines, as one writes it: who yields puts its handle into a
// std::queue, round robin. ring: a ring of handles instead, the least that such a queue can be. Prints the CPU seconds that it took until
// all had ended. Built by run.sh with g++ -O2 -std=c++20.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <queue>
#include <vector>

struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

struct Ring {
    std::vector<std::coroutine_handle<>> handles = std::vector<std::coroutine_handle<>>(2);
    uint32_t head = 0, tail = 0;
    void room_for(uint32_t tasks)
    {
        size_t room = 2;
        while (room < tasks) room *= 2;
        handles.resize(room);
    }
    bool empty() const { return head == tail; }
    void push(std::coroutine_handle<> task) { handles[tail++ & (handles.size() - 1)] = task; }
    std::coroutine_handle<> front() const { return handles[head & (handles.size() - 1)]; }
    void pop() { head++; }
};

template <typename Queue> static Queue ready;

template <typename Queue> struct Yield {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> task) const { ready<Queue>.push(task); }
    void await_resume() const noexcept {}
};

template <typename Queue> static Task spin(int64_t count)
{
    for (int64_t i = 0; i < count; i++) co_await Yield<Queue>{};
}

static double cpu_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

template <typename Queue> static double run_all(uint32_t tasks, int64_t yields)
{
    Queue &queue = ready<Queue>;
    for (uint32_t i = 0; i < tasks; i++) queue.push(spin<Queue>(yields).handle);
    const double begin = cpu_seconds();
    while (!queue.empty()) {
        std::coroutine_handle<> task = queue.front();
        queue.pop();
        task.resume();
    }
    return cpu_seconds() - begin;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 64;
    const uint32_t tasks = uint32_t(atoi(argv[1]));
    const int64_t yields = atoll(argv[2]);
    ready<Ring>.room_for(tasks);
    printf("%.9f\n", argc > 3 ? run_all<Ring>(tasks, yields)
                              : run_all<std::queue<std::coroutine_handle<>>>(tasks, yields));
    return 0;
}
