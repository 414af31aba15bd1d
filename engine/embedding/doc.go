// Package embedding has the losses of terms, phi of links of the images of records under a map, and their gradients: over all
// pairs of records with a certificate for every record (docs/theory.md#networks), and over listed pairs, tuples and batches
// (docs/theory.md#pairs).
//
//	map     a matrix W, or a Model: a Network and what is done to its output: nothing, unit length, a ball
//	link    Difference of scores, Inner product, SquaredDistance
//	phi     an engine.Scalar of a link, Contrastive, BradleyTerry; Triplet and NPair of many links, InfoNCE of a batch
//	terms   Gradients of listed pairs, Tuples, AllPairs (W), Softmax (networks), Moments of differences; Loss
//
// A term is a function of its own records and the weights, bit for bit; Engine is the contract that every device meets for listed
// pairs. The rest is about Loss.
//
// # Data flow
//
//	Network   f_theta and its layers: MLP here, or any Graph (autodiff/gorgonia)
//	PairLoss  l(f, f', y, y'): Score, Bilinear, Distance, Contrastive, each with proved bounds
//	Loss      Model + PairLoss + Clip: an engine.Loss, so that Problem, Spec, Plan, ledger, replay
//	          and audits of every other loss work as they are
//	Backend   an engine.Backend for these losses: Plan -> Kernel (Bounds) -> Evaluator
//	Accelerator   steps 1 and 3 below elsewhere, such as on a GPU (engine/cuda): PlanRows -> RowsKernel -> Rows
//	TermAccelerator   tuples that are clipped as a whole (engine/terms), and records of batches (Softmax), elsewhere, too
//
// A caller does what it does for any loss:
//
//	loss := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 1}
//	problem := engine.Problem{N: n, D: d, Bounds: b, Loss: loss, Radius: loss.Radius()}
//	spec, err := algorithms.NewSpec(embedding.Backend{}, problem, 0, budget, algorithms.Certified)
//
// Constants has Smoothness +Inf and no convexity, so only algorithms that add noise to every
// gradient take it. Problem.Domain is a product of balls, one for each layer; its Start is a public
// start, drawn from Loss.Seed or given as Loss.Start. engine.Parts and engine.Grouped wrap the
// Backend for batches of records and for query groups.
//
// # One gradient
//
//	1  f_i, ||J_i||_F        block by block; a function of record i and theta alone, bit for bit
//	2  V_i = sum over j of a_ij + b_ji   all pairs of embeddings: engine/cpu (ScoreSums, PairSums)
//	3  sum of s_i J_i^T V_i, s_i = min(1, Clip/||J_i||_F)   one backward pass for each record
//
// with a = dl/df and b = dl/df'. The term of a pair, s_i J_i^T a_ij + s_j J_j^T b_ij, depends on its two
// records and theta, and has norm at most 2 A Clip if ||a||, ||b|| <= A, which interval bounds of phi' over
// the range of the margins prove. J_i is clipped, which depends on no other record. Clipping J_i^T V_i would
// not be private, since V_i depends on all records. Loss.PairClip clips whole terms of pairs instead: less
// noise for more work.
//
// Memory is O(n (d + m)) and the parameters: step 3 computes hidden values again. Sums run in a fixed
// order that depends on public numbers. Only the public start is random.
package embedding
