package sizes

// ballast keeps the collector of a test process away from heaps of a few megabytes, which it would otherwise collect hundreds of
// times a second: the next collection comes when the heap has grown by as much again. The pages are never touched.
var ballast = make([]byte, 64<<20)
