package sizes

// ballast keeps the heap of a test process large, so that the collector does not collect small heaps hundreds of
// times a second: the next collection comes when the heap has doubled. The pages of ballast are never touched.
var ballast = make([]byte, 64<<20)
