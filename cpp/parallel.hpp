// A parallel loop on std::thread: tasks are handed out one by one, results must not depend on who
// runs what. The calling thread only waits and polls, so that Ctrl-C and progress work.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace nestmap {

// poll(done) is called about ten times a second with the share of tasks finished (0..1); it may
// throw, which stops the loop: workers finish their current task and the exception is passed on.
using Poll = std::function<void(double)>;
constexpr std::chrono::milliseconds POLL_EVERY{100};

using Stop = std::atomic<bool>;

// Threads that run worker(0), worker(1), ...: up to n, as many as the system has room for. Joined when they go.
class Threads {
public:
    template <class Worker>
    Threads(int n, const Worker& worker) {
        threads_.reserve(n);
        try {
            while (size() < n)
                threads_.emplace_back([this, &worker, id = size()] {
                    if (!wait_for_start(id)) return;
                    // A thread's state of exceptions is allocated when it is first asked for; if memory is out
                    // by then, the C library ends the process. Volatile: the answer is not used, but must be asked for.
                    [[maybe_unused]] const volatile int state = std::uncaught_exceptions();
                    worker(id);
                });
        } catch (const std::system_error&) {  // a limit of the system, or no room for a stack
        } catch (const std::bad_alloc&) {
        }
        // At a limit half of the threads go again: tasks need some of the room that their stacks have taken.
        tell(size() < n ? size() / 2 : n, false);
        for (; size() > number_; threads_.pop_back()) threads_.back().join();
        tell(number_, true);
    }
    ~Threads() {
        for (std::thread& t : threads_) t.join();
    }
    Threads(const Threads&) = delete;
    int size() const { return (int)threads_.size(); }

private:
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable told_;
    int number_ = std::numeric_limits<int>::max();  // of threads that stay
    bool started_ = false;

    void tell(int number, bool started) {
        std::lock_guard<std::mutex> lock(mutex_);
        number_ = number;
        started_ = started;
        told_.notify_all();
    }
    bool wait_for_start(int id) {
        std::unique_lock<std::mutex> lock(mutex_);
        told_.wait(lock, [&] { return started_ || id >= number_; });
        return id < number_;
    }
};

// What the threads of one loop share.
class Loop {
public:
    Loop(int64_t n_tasks, const Poll& poll) : n_tasks_(n_tasks), poll_(poll) {}
    Stop stop{false};

    // One worker: takes tasks until there are none, or one has failed.
    template <class Run>
    void work(Run& run, int id) {
        std::exception_ptr failed;
        try {
            for (int64_t t; !stop && (t = next_++) < n_tasks_;) run(t, id);
        } catch (...) {
            failed = std::current_exception();
            stop = true;
        }
        std::lock_guard<std::mutex> lock(mutex_);
        if (failed && !error_) error_ = failed;
        ++n_finished_;
        finished_.notify_one();
    }

    // The calling thread, while n_started workers run.
    void wait(int n_started) {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!finished_.wait_for(lock, POLL_EVERY, [&] { return n_finished_ == n_started; })) {
            lock.unlock();
            poll();
            lock.lock();
        }
    }

    // The calling thread, if there is no other.
    template <class Run>
    void run_alone(Run& run) {
        auto last = std::chrono::steady_clock::now();
        for (int64_t t; (t = next_++) < n_tasks_;) {
            run(t, 0);
            const auto now = std::chrono::steady_clock::now();
            if (now - last < POLL_EVERY) continue;
            poll();
            last = now;
        }
    }

    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    const int64_t n_tasks_;
    const Poll& poll_;
    std::atomic<int64_t> next_{0};
    std::mutex mutex_;
    std::condition_variable finished_;
    int n_finished_ = 0;
    std::exception_ptr error_;

    void poll() {
        try {
            if (poll_) poll_((double)next_ / (double)n_tasks_);
        } catch (...) {
            stop = true;
            throw;
        }
    }
};

// Body: void(int64_t task, int worker), or with a third argument, const Stop&, that a task which may take
// longer than a moment looks at from time to time.
template <class Body>
void parallel_for(int64_t n_tasks, int n_threads, const Poll& poll, Body&& body) {
    if (n_threads > n_tasks) n_threads = (int)n_tasks;
    Loop loop(n_tasks, poll);
    auto run = [&](int64_t task, int id) {
        if constexpr (std::is_invocable_v<Body&, int64_t, int, const Stop&>)
            body(task, id, loop.stop);
        else
            body(task, id);
    };
    if (n_threads <= 1 && n_tasks < 4) {  // not worth a thread
        for (int64_t t = 0; t < n_tasks; ++t) run(t, 0);
        return;
    }
    const auto worker = [&](int id) { loop.work(run, id); };
    {
        const Threads threads(n_threads, worker);
        if (threads.size() > 0)
            loop.wait(threads.size());
        else
            loop.run_alone(run);
    }
    loop.rethrow();
}

}  // namespace nestmap
