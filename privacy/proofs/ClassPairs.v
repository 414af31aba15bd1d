(* A sum over all pairs of a positive and a negative record: docs/theory.md 13.2. *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space.
Import ListNotations.
Open Scope R_scope.

Section ClassPairs.
Context {Z : Type}.
Variables (positive : Z -> bool) (t : Z -> Z -> R) (L : R).
Hypothesis HL : 0 <= L.
Hypothesis levels : forall z z', Rabs (t z z') <= L.

Definition pair_term (z o : Z) : R := if andb (positive z) (negb (positive o)) then t z o else 0.
Definition class_pairs (D : list Z) : R := rsum (fun z => rsum (fun o => pair_term z o) D) D.
Definition positives (D : list Z) : R := rsum (fun z => if positive z then 1 else 0) D.

(* What a record has with another one, whichever of them is the positive. *)
Definition own (z o : Z) : R := pair_term z o + pair_term o z.

Lemma own_bound z o : Rabs (own z o) <= if Bool.eqb (positive z) (positive o) then 0 else L.
Proof.
  unfold own, pair_term; pose proof (levels z o); pose proof (levels o z).
  destruct (positive z), (positive o); simpl; rewrite ?Rplus_0_l, ?Rplus_0_r, ?Rabs_R0; lra.
Qed.

Lemma rsum_plus (f g : Z -> R) D : rsum (fun z => f z + g z) D = rsum f D + rsum g D.
Proof. induction D as [| z D IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma class_pairs_without A B z : class_pairs (A ++ z :: B) = class_pairs (A ++ B) + rsum (own z) (A ++ B).
Proof.
  unfold class_pairs.
  assert (H : forall E, rsum (fun y => rsum (fun o => pair_term y o) (A ++ z :: B)) E =
    rsum (fun y => rsum (fun o => pair_term y o) (A ++ B)) E + rsum (fun y => pair_term y z) E).
  { induction E as [| y E IH]; simpl; [ring |]; rewrite IH, !rsum_app; simpl; ring. }
  assert (G : forall f : Z -> R, rsum f (A ++ z :: B) = rsum f (A ++ B) + f z) by (intros f; rewrite !rsum_app; simpl; ring).
  rewrite H, !(G (fun y => rsum (fun o => pair_term y o) (A ++ B))), (G (fun y => pair_term y z)).
  unfold own; rewrite rsum_plus.
  assert (Q : pair_term z z = 0) by (unfold pair_term; destruct (positive z); reflexivity).
  rewrite Q, (rsum_ext (fun o => pair_term z o) (pair_term z)) by reflexivity; ring.
Qed.

Lemma own_moves z z' D : Rabs (rsum (own z) D - rsum (own z') D) <=
  (if Bool.eqb (positive z) (positive z') then 2 * L else L) * INR (length D).
Proof.
  induction D as [| o D IH]; [simpl; rewrite Rminus_0_r, Rabs_R0; lra |].
  cbn [rsum length]; rewrite S_INR.
  replace (own z o + rsum (own z) D - (own z' o + rsum (own z') D)) with ((own z o + - own z' o) + (rsum (own z) D - rsum (own z') D)) by ring.
  eapply Rle_trans; [apply Rabs_triang |].
  pose proof (Rabs_triang (own z o) (- own z' o)) as T; rewrite Rabs_Ropp in T.
  pose proof (own_bound z o) as A; pose proof (own_bound z' o) as B.
  assert (C : Rabs (own z o) + Rabs (own z' o) <= if Bool.eqb (positive z) (positive z') then 2 * L else L)
    by (destruct (positive z), (positive z'), (positive o); simpl in *; lra).
  lra.
Qed.

Section Neighbours.
Variables (A B : list Z) (z z' : Z).
Let D := A ++ z :: B.
Let D' := A ++ z' :: B.
Let others := INR (length (A ++ B)). (* n - 1 *)
Let dT := class_pairs D - class_pairs D'.
Let dN := positives D - positives D'.

Lemma moves : if Bool.eqb (positive z) (positive z') then Rabs dT <= 2 * L * others /\ dN = 0 else Rabs dT <= L * others /\ Rabs dN <= 1.
Proof.
  assert (T : dT = rsum (own z) (A ++ B) - rsum (own z') (A ++ B)) by (unfold dT, D, D'; rewrite !class_pairs_without; ring).
  assert (P : dN = (if positive z then 1 else 0) - (if positive z' then 1 else 0))
    by (unfold dN, D, D', positives; rewrite !rsum_app; simpl; ring).
  pose proof (own_moves z z' (A ++ B)) as M; rewrite T, P.
  destruct (Bool.eqb (positive z) (positive z')) eqn:E.
  - apply Bool.eqb_prop in E; rewrite E; split; [exact M | ring].
  - split; [exact M |]; destruct (positive z), (positive z'); unfold Rabs; destruct (Rcase_abs _); lra.
Qed.

Lemma others_pos : 0 <= others.
Proof. apply pos_INR. Qed.

(* In the L2 norm with the count times k, k^2 <= 3 L^2 (n - 1)^2. *)
Theorem class_pair_sum k : k * k <= 3 * (L * others * (L * others)) ->
  sqrt (dT * dT + k * dN * (k * dN)) <= 2 * L * others.
Proof.
  intros K; pose proof moves as M; pose proof others_pos as O.
  assert (LO : 0 <= L * others) by (apply Rmult_le_pos; assumption).
  assert (Q : forall x, x * x = Rabs x * Rabs x) by (intros x; unfold Rabs; destruct (Rcase_abs x); ring).
  rewrite <- (sqrt_square (2 * L * others)) by lra; apply sqrt_le_1_alt.
  pose proof (Rabs_pos dT); pose proof (Rabs_pos dN).
  destruct (Bool.eqb (positive z) (positive z')).
  - destruct M as [M E]; rewrite E, (Q dT); nra.
  - destruct M as [M E].
    replace (k * dN * (k * dN)) with (k * k * (dN * dN)) by ring; rewrite (Q dT), (Q dN).
    assert (Rabs dN * Rabs dN <= 1) by nra.
    assert (k * k * (Rabs dN * Rabs dN) <= k * k) by (pose proof (Rle_0_sqr k) as S; unfold Rsqr in S; nra).
    nra.
Qed.

(* In the L1 norm, k <= L (n - 1). *)
Theorem class_pair_sum_manhattan k : 0 <= k <= L * others -> Rabs dT + Rabs (k * dN) <= 2 * L * others.
Proof.
  intros K; pose proof moves as M; rewrite Rabs_mult, (Rabs_pos_eq k) by lra.
  destruct (Bool.eqb (positive z) (positive z')); destruct M as [M E].
  - rewrite E, Rabs_R0; lra.
  - assert (k * Rabs dN <= k * 1) by (apply Rmult_le_compat_l; lra); lra.
Qed.
End Neighbours.
End ClassPairs.
