"""Hours of mixed load on one server: does it grow, leak or slow down?

`make soak HOURS=2` runs it. The load uses plain, streamed, stored and chained responses,
conversations, background responses, messages, files, file search and WebSockets, at a fixed rate.
Each minute is a sample of the process: memory, descriptors, threads, and the p99 of what clients
waited. After a warm-up, memory has to be flat (a slope of less than `growth.MOST` bytes an hour),
and descriptors, threads and p99 have to stay.
"""
