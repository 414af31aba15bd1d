// Package embedding has losses of terms of records and the gradients of these losses. A loss is a function phi of links
// between the images of records under a map. Gradients are summed over all pairs of records, with a certificate for
// every record (docs/theory.md#networks), or over listed pairs, tuples and batches (docs/theory.md#pairs).
//
//	map     a matrix W, or a Model: a Network with an output stage: none, unit length, or a ball
//	link    Difference of scores, Inner product or SquaredDistance
//	phi     an engine.Scalar, Contrastive or BradleyTerry of one link; Triplet or NPair of many links; InfoNCE of a batch
//	sums    Gradients of listed pairs, Tuples, AllPairs (for W), Softmax (for networks), Moments of differences, Loss
//
// A term is a function of its own records and the weights, bit for bit. Engine is the contract that every device
// meets for listed pairs. The following sections describe Loss.
//
// # Data flow
//
//	Network   f_theta and its layers: MLP here, or any Graph (autodiff/gorgonia)
//	PairLoss  l(f, f', y, y'): Score, Bilinear, Distance, Contrastive, each with proved bounds
//	Loss      Model + PairLoss + Clip: an engine.Loss, so it works with the same Problem, Spec, Plan, ledger,
//	          replay and audits as any other loss
//	Backend   an engine.Backend for these losses: Plan -> Kernel (Bounds) -> Evaluator
//	Accelerator   steps 1 and 3 below on another device, such as a GPU (engine/cuda): PlanRows -> RowsKernel -> Rows
//	TermAccelerator   an Accelerator that also computes tuples clipped as a whole (Tuples) and records of batches (Softmax)
//
// A caller uses such a loss as any other loss:
//
//	loss := embedding.Loss{Model: embedding.Model{Network: net}, Pair: embedding.Score{Of: engine.Logistic{}}, Clip: 1}
//	problem := engine.Problem{N: n, D: d, Bounds: b, Loss: loss, Radius: loss.Radius()}
//	spec, err := algorithms.NewSpec(embedding.Backend{}, problem, 0, budget, algorithms.Certified)
//
// Constants has Smoothness +Inf and no convexity, so a Loss can be used only by algorithms that add noise to
// every gradient. Problem.Domain is a product of balls, one for each layer. The Start of the domain is public:
// it is drawn from Loss.Seed or given as Loss.Start. engine.Parts and engine.Grouped wrap the Backend for
// batches of records and for query groups.
//
// # One gradient
//
//	1  f_i, ||J_i||_F        block by block; a function of record i and theta alone, bit for bit
//	2  V_i = sum over j of a_ij + b_ji   all pairs of embeddings: engine/cpu (ScoreSums, PairSums)
//	3  sum of s_i J_i^T V_i, s_i = min(1, Clip/||J_i||_F)   one backward pass for each record
//
// with a = dl/df and b = dl/df'. The term of a pair is s_i J_i^T a_ij + s_j J_j^T b_ij. It depends on its two
// records and theta. It has norm at most 2 A Clip if ||a|| and ||b|| are at most A. Interval bounds of phi'
// over the range of the margins prove this A. Clipping J_i is private because J_i depends on no other record.
// Clipping J_i^T V_i would not be private, since V_i depends on all records. Loss.PairClip clips whole terms of
// pairs instead, which needs less noise and more work.
//
// The memory needed is O(n (d + m)) and the parameters, because step 3 computes hidden values again. Sums run
// in a fixed order that depends on public numbers. Only the public start is random.
package embedding
