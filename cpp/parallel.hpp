// A parallel loop on std::thread: tasks are handed out one by one, results must not depend on who
// runs what. The calling thread only waits and polls, so that Ctrl-C and progress work.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace nestmap {

// poll(done) is called about ten times a second with the share of tasks finished (0..1); it may
// throw, which stops the loop: workers finish their current task and the exception is passed on.
using Poll = std::function<void(double)>;

using Stop = std::atomic<bool>;

// Body: void(int64_t task, int worker), or with a third argument, const Stop&, that a task which may take
// longer than a moment looks at from time to time.
template <class Body>
void parallel_for(int64_t n_tasks, int n_threads, const Poll& poll, Body&& body) {
    if (n_threads > n_tasks) n_threads = (int)n_tasks;
    std::atomic<int64_t> next{0};
    Stop stop{false};
    const auto run = [&](int64_t task, int id) {
        if constexpr (std::is_invocable_v<Body&, int64_t, int, const Stop&>)
            body(task, id, stop);
        else
            body(task, id);
    };
    if (n_threads <= 1 && n_tasks < 4) {
        for (int64_t t = 0; t < n_tasks; ++t) run(t, 0);
        return;
    }
    std::mutex mutex;
    std::condition_variable finished;
    int running = n_threads;
    std::exception_ptr error;
    auto worker = [&](int id) {
        try {
            for (int64_t t; !stop && (t = next++) < n_tasks;) run(t, id);
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
            stop = true;
        }
        std::lock_guard<std::mutex> lock(mutex);
        if (--running == 0) finished.notify_one();
    };
    std::vector<std::thread> threads;
    threads.reserve(n_threads);
    for (int i = 0; i < n_threads; ++i) threads.emplace_back(worker, i);
    {
        std::unique_lock<std::mutex> lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
            lock.unlock();
            try {
                if (poll) poll((double)next / (double)n_tasks);
            } catch (...) {
                stop = true;
                for (auto& t : threads) t.join();
                throw;
            }
            lock.lock();
        }
    }
    for (auto& t : threads) t.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace nestmap
