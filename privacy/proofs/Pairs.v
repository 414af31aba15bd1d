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

(* (c n_S, sums of dx dx^T over similar and over dissimilar pairs): a pair is a record whose class says whether it is similar. *)
Definition pair_moment {d} c (z : record d) : Pair Line (Pair (Mat d) (Mat d)) := (c * share z, class_square z).

Lemma pair_moment_distance {d} h c (z z' : record d) : within h z -> within h z' ->
  nrm (sub (pair_moment c z) (pair_moment c z')) <= sqrt (2 * (h * h * (h * h)) + c * c).
Proof.
  intros A A'; apply sqrt_le_1_alt.
  eapply Rle_trans; [apply Req_le; exact (dot_pair (c * share z : Line) (c * share z') (class_square z) (class_square z')) |].
  rewrite dot_line; pose proof (class_square_distance h z z' A A'); pose proof (count_square h z z' c A A') as K.
  replace ((c * share z - c * share z') * (c * share z - c * share z')) with (c * (share z - share z') * (c * (share z - share z'))) by ring; lra.
Qed.

Theorem pair_moments {d} h c kappa (B B' : list (record d)) : differ kappa B B' -> Forall (within h) B -> Forall (within h) B' ->
  nrm (sub (vsum (pair_moment c) B) (vsum (pair_moment c) B')) <= INR kappa * sqrt (2 * (h * h * (h * h)) + c * c).
Proof.
  induction 1 as [| k z B B' H IH | k z z' B B' H IH]; intros F F'; cbn [vsum].
  - pose proof (norm_sub_self (euclid (Pair Line (Pair (Mat d) (Mat d)))) zero) as Q; cbn [norm euclid] in Q; rewrite Q; simpl; lra.
  - inversion F; inversion F'; subst.
    rewrite (eqv_nrm _ (sub (vsum (pair_moment c) B) (vsum (pair_moment c) B'))) by vec; apply IH; assumption.
  - inversion F; inversion F'; subst.
    rewrite (eqv_nrm _ (add (sub (pair_moment c z) (pair_moment c z')) (sub (vsum (pair_moment c) B) (vsum (pair_moment c) B')))) by vec.
    eapply Rle_trans; [apply nrm_add |]; rewrite S_INR.
    pose proof (pair_moment_distance h c z z' ltac:(assumption) ltac:(assumption)); pose proof (IH ltac:(assumption) ltac:(assumption)); lra.
Qed.

(* All ordered pairs of n places: 2 (n - 1) of n (n - 1) contain one. *)
Definition others (n i : nat) := filter (fun j => negb (Nat.eqb j i)) (seq 0 n).
Definition all_pairs (n : nat) := flat_map (fun i => map (fun j => (i, j)) (others n i)) (seq 0 n).

Lemma without m i : forall n, length (filter (fun j => negb (Nat.eqb j i)) (seq n m)) =
  if andb (Nat.leb n i) (Nat.ltb i (n + m)) then (m - 1)%nat else m.
Proof.
  induction m as [| m IH]; intros n; cbn [seq filter length].
  - destruct (andb _ _); reflexivity.
  - destruct (Nat.eqb_spec n i) as [-> | N]; cbn [negb length]; rewrite IH.
    + replace (Nat.leb (Datatypes.S i) i) with false by (symmetry; apply Nat.leb_gt; lia).
      replace (Nat.leb i i) with true by (symmetry; apply Nat.leb_le; lia).
      replace (Nat.ltb i (i + Datatypes.S m)) with true by (symmetry; apply Nat.ltb_lt; lia); simpl; lia.
    + destruct (Nat.leb_spec n i), (Nat.leb_spec (Datatypes.S n) i), (Nat.ltb_spec i (Datatypes.S n + m)), (Nat.ltb_spec i (n + Datatypes.S m)); simpl; lia.
Qed.

Lemma others_length (n i : nat) : (i < n)%nat -> length (others n i) = (n - 1)%nat.
Proof.
  intros L; unfold others; rewrite without.
  replace (Nat.ltb i (0 + n)) with true by (symmetry; apply Nat.ltb_lt; lia); reflexivity.
Qed.

(* Those with first place i that contain k: all of them if i = k, else one. *)
Lemma row_count (k i : nat) l : length (filter (holds k) (map (fun j => (i, j)) l)) =
  if Nat.eqb i k then length l else length (filter (fun j => Nat.eqb j k) l).
Proof.
  induction l as [| j l IH]; cbn [map filter length]; [destruct (Nat.eqb i k); reflexivity |].
  unfold holds at 1; cbn [fst snd]; destruct (Nat.eqb_spec i k); cbn [orb length]; [rewrite IH; reflexivity |].
  destruct (Nat.eqb j k); cbn [length]; rewrite IH; reflexivity.
Qed.

Lemma once n m k i : i <> k -> length (filter (fun j => Nat.eqb j k) (filter (fun j => negb (Nat.eqb j i)) (seq n m))) =
  if andb (Nat.leb n k) (Nat.ltb k (n + m)) then 1%nat else O.
Proof.
  intros N; revert n; induction m as [| m IH]; intros n; cbn [seq filter length].
  - destruct (Nat.leb_spec n k), (Nat.ltb_spec k (n + 0)); simpl; lia.
  - destruct (Nat.eqb_spec n i) as [E | E]; cbn [negb filter].
    + rewrite IH; destruct (Nat.leb_spec n k), (Nat.leb_spec (Datatypes.S n) k), (Nat.ltb_spec k (Datatypes.S n + m)), (Nat.ltb_spec k (n + Datatypes.S m)); simpl; lia.
    + destruct (Nat.eqb_spec n k) as [E' | E']; cbn [length]; rewrite IH;
        destruct (Nat.leb_spec n k), (Nat.leb_spec (Datatypes.S n) k), (Nat.ltb_spec k (Datatypes.S n + m)), (Nat.ltb_spec k (n + Datatypes.S m)); simpl; lia.
Qed.

Lemma all_length (n : nat) : forall from m : nat, (from + m <= n)%nat ->
  length (flat_map (fun i => map (fun j => (i, j)) (others n i)) (seq from m)) = (m * (n - 1))%nat.
Proof.
  intros from m; revert from; induction m as [| m IH]; intros from L; cbn [seq flat_map length]; [reflexivity |].
  rewrite app_length, map_length, others_length, IH by lia; simpl; lia.
Qed.

Lemma all_holding (n k : nat) : (k < n)%nat -> forall from m : nat, (from + m <= n)%nat ->
  length (filter (holds k) (flat_map (fun i => map (fun j => (i, j)) (others n i)) (seq from m))) =
  if andb (Nat.leb from k) (Nat.ltb k (from + m)) then (n - 1 + (m - 1))%nat else m.
Proof.
  intros K from m; revert from; induction m as [| m IH]; intros from L; cbn [seq flat_map length filter].
  - destruct (Nat.leb_spec from k), (Nat.ltb_spec k (from + 0)); simpl; lia.
  - rewrite filter_app, app_length, row_count, IH by lia.
    destruct (Nat.eqb_spec from k) as [E | E].
    + rewrite others_length by lia; destruct (Nat.leb_spec from k), (Nat.leb_spec (Datatypes.S from) k), (Nat.ltb_spec k (Datatypes.S from + m)), (Nat.ltb_spec k (from + Datatypes.S m)); simpl; lia.
    + unfold others; rewrite once by exact E.
      replace (Nat.ltb k (0 + n)) with true by (symmetry; apply Nat.ltb_lt; lia); change (Nat.leb 0 k) with true; cbn [andb].
      destruct (Nat.leb_spec from k), (Nat.leb_spec (Datatypes.S from) k), (Nat.ltb_spec k (Datatypes.S from + m)), (Nat.ltb_spec k (from + Datatypes.S m)); simpl; lia.
Qed.

Theorem share_of_all_pairs (n k : nat) : (2 <= n)%nat -> (k < n)%nat ->
  INR (length (filter (holds k) (all_pairs n))) = 2 / INR n * INR (length (all_pairs n)).
Proof.
  intros N K; unfold all_pairs; rewrite all_holding, all_length by lia.
  replace (Nat.ltb k (0 + n)) with true by (symmetry; apply Nat.ltb_lt; lia); change (Nat.leb 0 k) with true; cbn [andb].
  rewrite plus_INR, mult_INR, minus_INR by lia; simpl (INR 1).
  assert (0 < INR n) by (apply lt_0_INR; lia); field; lra.
Qed.
