(* Sums over pairs: mean gradients (docs/theory.md 3.2), batches of labelled pairs (9.2, 9.6, 9.8), moments of pairs (9.11) and sums
   over the pairs of two classes (13.2). *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space Moments Classes.
Import ListNotations.
Open Scope R_scope.

(* A mean over a public list P of ordered pairs of places. Neighbours are two functions from places to records that differ at k. *)
Section MeanGradient.
Context {Z : Type} {S : Space} (N : Norm S).
Variables (ok : Z -> Prop) (g : Z -> Z -> S) (Dg : R).
Hypothesis HDg : 0 <= Dg.
Hypothesis left : forall z z' o, ok z -> ok z' -> ok o -> N (sub (g z o) (g z' o)) <= Dg.
Hypothesis right : forall z z' o, ok z -> ok z' -> ok o -> N (sub (g o z) (g o z')) <= Dg.

Definition holds (k : nat) (p : nat * nat) : bool := orb (Nat.eqb (fst p) k) (Nat.eqb (snd p) k).
Definition mean (P : list (nat * nat)) (D : nat -> Z) : S :=
  scale (/ INR (length P)) (vsum (fun p => g (D (fst p)) (D (snd p))) P).

Lemma pairs_moved P k (D D' : nat -> Z) : (forall i, ok (D i)) -> (forall i, ok (D' i)) -> (forall i, i <> k -> D i = D' i) ->
  (forall p, In p P -> fst p <> snd p) ->
  N (sub (vsum (fun p => g (D (fst p)) (D (snd p))) P) (vsum (fun p => g (D' (fst p)) (D' (snd p))) P))
    <= INR (length (filter (holds k) P)) * Dg.
Proof.
  intros O O' E; induction P as [| [i j] P IH]; intros NE.
  - simpl; rewrite norm_sub_self; lra.
  - assert (IH' := IH (fun p I => NE p (or_intror I))); clear IH.
    assert (IJ : i <> j) by (apply (NE (i, j)); left; reflexivity).
    cbn [vsum fst snd].
    rewrite (norm_eqv N _ (add (sub (g (D i) (D j)) (g (D' i) (D' j)))
      (sub (vsum (fun p => g (D (fst p)) (D (snd p))) P) (vsum (fun p => g (D' (fst p)) (D' (snd p))) P)))) by vec.
    eapply Rle_trans; [apply norm_add |].
    cbn [filter]; unfold holds at 1; cbn [fst snd].
    destruct (Nat.eqb_spec i k) as [I | I]; [| destruct (Nat.eqb_spec j k) as [J | J]]; cbn [orb length]; rewrite ?S_INR.
    + rewrite <- (E j) by congruence; pose proof (left (D i) (D' i) (D j) (O i) (O' i) (O j)); lra.
    + rewrite <- (E i) by congruence; pose proof (right (D j) (D' j) (D i) (O j) (O' j) (O i)); lra.
    + rewrite (E i I), (E j J), norm_sub_self; lra.
Qed.

(* p bounds the share of the pairs that contain one place. *)
Theorem mean_gradient P k p (D D' : nat -> Z) : P <> [] -> (forall i, ok (D i)) -> (forall i, ok (D' i)) -> (forall i, i <> k -> D i = D' i) ->
  (forall q, In q P -> fst q <> snd q) -> INR (length (filter (holds k) P)) <= p * INR (length P) ->
  N (sub (mean P D) (mean P D')) <= p * Dg.
Proof.
  intros NP O O' E NE H; unfold mean.
  assert (L : 0 < INR (length P)) by (apply lt_0_INR; destruct P; [congruence | simpl; lia]).
  rewrite (norm_eqv N _ (scale (/ INR (length P)) (sub (vsum (fun p => g (D (fst p)) (D (snd p))) P) (vsum (fun p => g (D' (fst p)) (D' (snd p))) P)))) by vec.
  rewrite norm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact L).
  pose proof (pairs_moved P k D D' O O' E NE) as M.
  assert (M' : N (sub (vsum (fun p => g (D (fst p)) (D (snd p))) P) (vsum (fun p => g (D' (fst p)) (D' (snd p))) P)) <= p * INR (length P) * Dg)
    by (eapply Rle_trans; [exact M | apply Rmult_le_compat_r; assumption]).
  replace (p * Dg) with (/ INR (length P) * (p * INR (length P) * Dg)) by (field; lra).
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; exact L | exact M'].
Qed.
End MeanGradient.

(* Batches: lists of pairs, or of tuples, with terms of norm at most h. *)
Section Batches.
Context {Z : Type} {S : Space} (N : Norm S).
Variables (h : R) (term : Z -> S).
Hypothesis Hh : 0 <= h.
Hypothesis small : forall z, N (term z) <= h.

(* Neighbouring batches have the same length and differ in k places. *)
Inductive differ : nat -> list Z -> list Z -> Prop :=
| same_batch : differ 0 [] []
| same_place k z B B' : differ k B B' -> differ k (z :: B) (z :: B')
| replaced_place k z z' B B' : differ k B B' -> differ (Datatypes.S k) (z :: B) (z' :: B').

Lemma batch_moves k B B' : differ k B B' -> N (sub (vsum term B) (vsum term B')) <= 2 * h * INR k.
Proof.
  induction 1 as [| k z B B' H IH | k z z' B B' H IH]; cbn [vsum].
  - rewrite norm_sub_self; simpl; lra.
  - rewrite (norm_eqv N _ (sub (vsum term B) (vsum term B'))) by vec; exact IH.
  - rewrite (norm_eqv N _ (add (sub (term z) (term z')) (sub (vsum term B) (vsum term B')))) by vec.
    eapply Rle_trans; [apply norm_add |]; pose proof (norm_sub N (term z) (term z')).
    pose proof (small z); pose proof (small z'); rewrite S_INR; lra.
Qed.

(* One release: the computed sum over a batch, over its public size b; rho bounds its error; without changed pairs it is the same. *)
Theorem batch_release k B B' b rho (c c' : S) : differ k B B' -> 0 < b ->
  N (sub c (scale (/ b) (vsum term B))) <= rho -> N (sub c' (scale (/ b) (vsum term B'))) <= rho ->
  N (sub c c') <= 2 * h * INR k / b + 2 * rho.
Proof.
  intros H P E E'; rewrite norm_sub_sym in E'.
  eapply Rle_trans; [apply (norm_through N _ (scale (/ b) (vsum term B))) |].
  pose proof (norm_through N (scale (/ b) (vsum term B)) (scale (/ b) (vsum term B')) c') as T.
  assert (M : N (sub (scale (/ b) (vsum term B)) (scale (/ b) (vsum term B'))) <= 2 * h * INR k / b).
  { rewrite (norm_eqv N _ (scale (/ b) (sub (vsum term B) (vsum term B')))) by vec.
    rewrite norm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact P).
    unfold Rdiv; rewrite Rmult_comm; apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact P | apply batch_moves; exact H]. }
  lra.
Qed.

(* A Poisson batch: j pairs of an owner are added to it. *)
Theorem poisson_release B C e : 0 < e -> N (sub (scale (/ e) (vsum term (B ++ C))) (scale (/ e) (vsum term B))) <= INR (length C) * (h / e).
Proof.
  intros P.
  rewrite (norm_eqv N _ (scale (/ e) (vsum term C))).
  - rewrite norm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact P).
    pose proof (norm_vsum_le N term h C (fun z _ => small z)) as H.
    replace (INR (length C) * (h / e)) with (/ e * (INR (length C) * h)) by (field; lra).
    apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; exact P | exact H].
  - intros w; rewrite dot_sub, !dot_scale, !dot_vsum, rsum_app; ring.
Qed.
End Batches.

(* One epoch: batch j has ks_j changed pairs, together at most kappa; what its release moves by is 0 where ks_j = 0. *)
Definition moved (u rho : R) (k : nat) : R := match k with O => 0 | _ => u * INR k + 2 * rho end.

Lemma moved_pos u rho k : 0 <= u -> 0 <= rho -> 0 <= moved u rho k.
Proof. intros U P; destruct k; [simpl; lra | unfold moved; pose proof (pos_INR (S k)); nra]. Qed.

Fixpoint total (ks : list nat) : nat := match ks with nil => O | k :: ks' => (k + total ks')%nat end.
Fixpoint touched (ks : list nat) : nat := match ks with nil => O | k :: ks' => ((match k with O => O | _ => 1 end) + touched ks')%nat end.

Lemma touched_le ks : (touched ks <= Nat.min (total ks) (length ks))%nat.
Proof. induction ks as [| [| k] ks IH]; simpl; lia. Qed.

Lemma epoch_total u rho ks : rsum (moved u rho) ks = u * INR (total ks) + 2 * rho * INR (touched ks).
Proof.
  induction ks as [| k ks IH]; [simpl; ring |].
  destruct k as [| k]; cbn [rsum total touched moved]; rewrite IH, !plus_INR; simpl (INR 0); [ring |].
  simpl (INR 1); ring.
Qed.

(* The sum of all moves of an epoch, for noise of pure epsilon: 2 h kappa/|B| + 2 rho min(kappa, batches), with u = 2 h/|B|. *)
Theorem pair_group_added u rho kappa ks : 0 <= u -> 0 <= rho -> (total ks <= kappa)%nat ->
  rsum (moved u rho) ks <= u * INR kappa + 2 * rho * INR (Nat.min kappa (length ks)).
Proof.
  intros U P K; rewrite epoch_total.
  assert (A : INR (total ks) <= INR kappa) by (apply le_INR; exact K).
  assert (B : INR (touched ks) <= INR (Nat.min kappa (length ks))) by (apply le_INR; pose proof (touched_le ks); lia).
  apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma squares_le (f : nat -> R) ks : (forall k, 0 <= f k) -> rsum (fun k => f k * f k) ks <= rsum f ks * rsum f ks.
Proof.
  intros P; induction ks as [| k ks IH]; simpl; [lra |].
  pose proof (P k); assert (0 <= rsum f ks) by (apply rsum_pos; auto); nra.
Qed.

(* The sum of all squares of an epoch, for Gaussian noise; epochs add up. *)
Theorem pair_group u rho kappa ks epochs : 0 <= u -> 0 <= rho -> (total ks <= kappa)%nat ->
  sqrt (INR epochs * rsum (fun k => moved u rho k * moved u rho k) ks) <=
    sqrt (INR epochs) * (u * INR kappa + 2 * rho * INR (Nat.min kappa (length ks))).
Proof.
  intros U P K; pose proof (pair_group_added u rho kappa ks U P K) as A.
  pose proof (squares_le (moved u rho) ks (fun k => moved_pos u rho k U P)) as Q.
  assert (0 <= rsum (moved u rho) ks) by (apply rsum_pos; intros; apply moved_pos; assumption).
  pose proof (pos_INR epochs) as E.
  rewrite sqrt_mult_alt by exact E; apply Rmult_le_compat_l; [apply sqrt_pos |].
  set (s := u * INR kappa + 2 * rho * INR (Nat.min kappa (length ks))) in *.
  rewrite <- (sqrt_square s) by lra; apply sqrt_le_1_alt; nra.
Qed.
