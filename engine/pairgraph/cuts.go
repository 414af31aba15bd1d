package pairgraph

// cuts describes how a graph falls apart if an individual or a pair is removed.
type cuts struct {
	// parts[v] is the number of components into which v's component falls if v is
	// removed. It is 0 for an individual without pairs.
	parts []int32
	// bridge[i] is true if removing pair i separates the two individuals of the pair.
	bridge []bool
}

// cut computes cuts in O(V + E) (Tarjan 1972; Hopcroft and Tarjan 1973). It does not
// recurse, so long paths, e.g. of 10^6 individuals, are possible.
//
// low(v) is the smallest visiting time that v's subtree reaches by one back edge. The
// subtree of a child c with low(c) >= time(v) is a separate part if v is removed. If
// low(c) > time(v), the edge between v and c is a bridge. If v is not the root, the
// remaining component is one more part.
func (g *Graph) cut() cuts {
	c := cuts{parts: make([]int32, g.n), bridge: make([]bool, len(g.pairs))}
	time, low := make([]int32, g.n), make([]int32, g.n) // time 0: not visited
	next := append([]int32(nil), g.start[:g.n]...)
	type step struct{ v, by int32 } // by is the pair that led to v
	var stack []step
	clock := int32(0)
	visit := func(v, by int32) {
		clock++
		time[v], low[v] = clock, clock
		stack = append(stack, step{v, by})
	}
	for root := range int32(g.n) {
		if time[root] != 0 {
			continue
		}
		visit(root, -1)
		for len(stack) > 0 {
			s := stack[len(stack)-1]
			if i := next[s.v]; i < g.start[s.v+1] {
				next[s.v]++
				switch u := g.near[i]; {
				case g.edge[i] == s.by:
				case time[u] == 0:
					visit(u, g.edge[i])
				default:
					low[s.v] = min(low[s.v], time[u])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				continue
			}
			if s.v != root {
				c.parts[s.v]++ // the part that contains the parent
			}
			parent := stack[len(stack)-1].v
			if low[s.v] >= time[parent] {
				c.parts[parent]++
			}
			c.bridge[s.by] = low[s.v] > time[parent]
			low[parent] = min(low[parent], low[s.v])
		}
	}
	return c
}
