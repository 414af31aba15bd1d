package sizes

// ballast keeps the heap of a test process large. The next garbage collection starts when the heap has doubled,
// so a large heap avoids hundreds of collections per second. The pages of ballast are never touched.
var ballast = make([]byte, 64<<20)
