(* Softmax losses of a batch: docs/theory.md 9.13 and 9.14, InfoNCE and NT-Xent by one proof. Every pair has c anchors and offers c
   candidates to the anchors of all other pairs: c = 1 for InfoNCE, c = 2 for NT-Xent. *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space.
Import ListNotations.
Open Scope R_scope.

Section Rows.
Context {S : Space}.
Variables (h a : R).
Hypotheses (Hh : 0 <= h) (Ha : 0 < a <= 1).

(* Candidates have a weight, e^(s/t), and a gradient. *)
Definition candidate := (R * S)%type.
Definition tot (l : list candidate) : R := rsum fst l.
Definition vec_of (l : list candidate) : S := vsum (fun c => scale (fst c) (snd c)) l.
Definition wmean (l : list candidate) : S := scale (/ tot l) (vec_of l).
Definition fine (l : list candidate) := forall c, In c l -> 0 < fst c /\ nrm (snd c) <= h.

Lemma tot_app l m : tot (l ++ m) = tot l + tot m.
Proof. apply rsum_app. Qed.
Lemma tot_nonneg l : fine l -> 0 <= tot l.
Proof. intros F; apply rsum_pos; intros c I; destruct (F c I); lra. Qed.
Lemma tot_pos l : l <> [] -> fine l -> 0 < tot l.
Proof.
  destruct l as [| c l]; intros N F; [congruence |].
  unfold tot; simpl; pose proof (F c (or_introl eq_refl)) as [P _].
  assert (0 <= rsum fst l) by (apply (tot_nonneg l); intros y I; apply F; right; exact I); lra.
Qed.
Lemma vec_of_small l : fine l -> nrm (vec_of l) <= tot l * h.
Proof.
  intros F; unfold vec_of, tot.
  eapply Rle_trans; [apply (norm_vsum (euclid S)) |].
  rewrite Rmult_comm, <- rsum_scale; apply rsum_le; intros c I; cbn [norm euclid].
  destruct (F c I) as [P L]; rewrite nrm_scale, Rabs_pos_eq by lra; rewrite (Rmult_comm h); apply Rmult_le_compat_l; lra.
Qed.
Lemma wmean_small l : l <> [] -> fine l -> nrm (wmean l) <= h.
Proof.
  intros N F; unfold wmean; pose proof (tot_pos l N F) as P.
  rewrite nrm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact P).
  pose proof (vec_of_small l F) as V.
  replace h with (/ tot l * (tot l * h)) by (field; lra); apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; exact P | exact V].
Qed.

(* An old anchor: its candidates L, and X or Y, which come from the pair that is added or replaced, in between. *)
Definition part_of (L X : list candidate) := tot X / (tot L + tot X).

Lemma mixed L X : L <> [] -> fine L -> fine X ->
  eqv (scale (/ (tot L + tot X)) (add (vec_of L) (vec_of X)))
      (add (scale (1 - part_of L X) (wmean L)) (scale (/ (tot L + tot X)) (vec_of X))).
Proof.
  intros N F G w; unfold wmean, part_of; pose proof (tot_pos L N F); pose proof (tot_nonneg X G).
  repeat (rewrite dot_add || rewrite dot_scale); field; lra.
Qed.

Lemma share_small L X : L <> [] -> fine L -> fine X -> 0 <= part_of L X /\ nrm (scale (/ (tot L + tot X)) (vec_of X)) <= part_of L X * h.
Proof.
  intros N F G; pose proof (tot_pos L N F) as P; pose proof (tot_nonneg X G) as Q; unfold part_of; split.
  - apply Rle_mult_inv_pos; lra.
  - rewrite nrm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; lra).
    pose proof (vec_of_small X G) as V.
    replace (tot X / (tot L + tot X) * h) with (/ (tot L + tot X) * (tot X * h)) by (field; lra).
    apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; lra | exact V].
Qed.

(* The mean moves by 2 h max(e, e'), e and e' the weights of what is new. *)
Lemma old_anchor L X Y e : L <> [] -> fine L -> fine X -> fine Y -> part_of L X <= e -> part_of L Y <= e ->
  nrm (sub (scale (/ (tot L + tot X)) (add (vec_of L) (vec_of X))) (scale (/ (tot L + tot Y)) (add (vec_of L) (vec_of Y)))) <= 2 * h * e.
Proof.
  intros N F G G' EX EY.
  set (v := scale (/ (tot L + tot X)) (vec_of X)); set (v' := scale (/ (tot L + tot Y)) (vec_of Y)).
  set (p := part_of L X) in *; set (q := part_of L Y) in *.
  assert (E : eqv (sub (scale (/ (tot L + tot X)) (add (vec_of L) (vec_of X))) (scale (/ (tot L + tot Y)) (add (vec_of L) (vec_of Y))))
    (add (sub v v') (scale (q - p) (wmean L)))).
  { intros w; rewrite dot_sub, (mixed L X N F G), (mixed L Y N F G'); fold v v' p q.
    unfold sub; repeat (rewrite dot_add || rewrite dot_scale); ring. }
  rewrite (eqv_nrm _ _ E).
  pose proof (nrm_add (sub v v') (scale (q - p) (wmean L))) as T.
  pose proof (norm_sub (euclid S) v v') as T'; cbn [norm euclid] in T'.
  rewrite nrm_scale in T; pose proof (wmean_small L N F) as W; pose proof (nrm_pos (wmean L)).
  destruct (share_small L X N F G) as [P V]; destruct (share_small L Y N F G') as [P' V']; fold v p in P, V; fold v' q in P', V'.
  assert (Rabs (q - p) * nrm (wmean L) <= Rabs (q - p) * h) by (apply Rmult_le_compat_l; [apply Rabs_pos | exact W]).
  unfold Rabs in *; destruct (Rcase_abs (q - p)); nra.
Qed.

(* Weights of one anchor have ratios of at least a, so c new candidates against at least 1 + c m' old ones. *)
Lemma new_share L X c n : L <> [] -> fine L -> fine X -> length X = c -> (n <= length L)%nat ->
  (forall x y, In x L -> In y X -> a * fst y <= fst x) -> part_of L X <= INR c / (INR c + INR n * a).
Proof.
  intros N F G LX LL Rt; unfold part_of.
  pose proof (tot_pos L N F) as P; pose proof (tot_nonneg X G) as Q.
  destruct c as [| c]; [destruct X; [| discriminate LX]; unfold Rdiv; change (tot []) with 0; change (INR 0) with 0; rewrite !Rmult_0_l; lra |].
  assert (C : 0 < INR (Datatypes.S c)) by (apply lt_0_INR; lia).
  assert (K : INR n * a * tot X <= INR (Datatypes.S c) * tot L).
  { assert (H : forall y, In y X -> INR n * (a * fst y) <= tot L).
    { intros y I; eapply Rle_trans with (r2 := INR (length L) * (a * fst y)).
      - apply Rmult_le_compat_r; [destruct (G y I); nra | apply le_INR; exact LL].
      - rewrite <- rsum_const; apply rsum_le; intros x J; apply Rt; assumption. }
    rewrite <- LX; pose proof (rsum_le (fun y => INR n * (a * fst y)) (fun _ => tot L) X H) as T.
    rewrite rsum_const in T; eapply Rle_trans; [| exact T]; apply Req_le.
    unfold tot; rewrite <- rsum_scale; apply rsum_ext; intros; ring. }
  assert (D : 0 < INR (Datatypes.S c) + INR n * a) by (pose proof (pos_INR n); nra).
  apply (Rmult_le_reg_r (tot L + tot X)); [lra |].
  apply (Rmult_le_reg_r (INR (Datatypes.S c) + INR n * a)); [exact D |].
  replace (tot X / (tot L + tot X) * (tot L + tot X) * (INR (Datatypes.S c) + INR n * a)) with (tot X * (INR (Datatypes.S c) + INR n * a)) by (field; lra).
  replace (INR (Datatypes.S c) / (INR (Datatypes.S c) + INR n * a) * (tot L + tot X) * (INR (Datatypes.S c) + INR n * a))
    with (INR (Datatypes.S c) * (tot L + tot X)) by (field; lra).
  nra.
Qed.

(* The anchor's own row: its positive p and the other candidates O, at most n of them. *)
Lemma own_row (p : candidate) O n : fine (p :: O) -> (length O <= n)%nat -> (forall x, In x O -> a * fst x <= fst p) ->
  nrm (sub (wmean (p :: O)) (snd p)) <= 2 * h * (INR n / (INR n + a)).
Proof.
  intros F L Rt; destruct (F p (or_introl eq_refl)) as [P V].
  assert (FO : fine O) by (intros x I; apply F; right; exact I).
  pose proof (tot_nonneg O FO) as Q.
  assert (E : eqv (sub (wmean (p :: O)) (snd p)) (scale (/ (fst p + tot O)) (sub (vec_of O) (scale (tot O) (snd p))))).
  { intros w; unfold wmean, sub, vec_of, tot; cbn [rsum vsum]; fold (tot O) (vec_of O).
    repeat (rewrite dot_add || rewrite dot_scale); unfold tot in Q |- *; field; lra. }
  rewrite (eqv_nrm _ _ E), nrm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; lra).
  pose proof (norm_sub (euclid S) (vec_of O) (scale (tot O) (snd p))) as T; cbn [norm euclid] in T.
  rewrite nrm_scale, Rabs_pos_eq in T by exact Q; pose proof (vec_of_small O FO) as W.
  assert (T2 : nrm (sub (vec_of O) (scale (tot O) (snd p))) <= 2 * h * tot O)
    by (assert (tot O * nrm (snd p) <= tot O * h) by (apply Rmult_le_compat_l; assumption); lra).
  assert (K : a * tot O <= INR n * fst p).
  { unfold tot; rewrite <- rsum_scale; eapply Rle_trans; [apply (rsum_le _ (fun _ => fst p)); exact Rt |].
    rewrite rsum_const; apply Rmult_le_compat_r; [lra | apply le_INR; exact L]. }
  eapply Rle_trans with (r2 := / (fst p + tot O) * (2 * h * tot O)).
  { apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; lra | exact T2]. }
  replace (/ (fst p + tot O) * (2 * h * tot O)) with (2 * h * (tot O / (fst p + tot O))) by (field; lra).
  apply Rmult_le_compat_l; [lra |].
  pose proof (pos_INR n) as PN.
  apply (Rmult_le_reg_r (fst p + tot O)); [lra |]; apply (Rmult_le_reg_r (INR n + a)); [lra |].
  replace (tot O / (fst p + tot O) * (fst p + tot O) * (INR n + a)) with (tot O * (INR n + a)) by (field; lra).
  replace (INR n / (INR n + a) * (fst p + tot O) * (INR n + a)) with (INR n * (fst p + tot O)) by (field; lra).
  nra.
Qed.
End Rows.

Section Batch.
(* Pairs of type Z; anchors and candidates are (pair, side), side in sides. e and g are the weight and the gradient of an anchor
   with a candidate of another pair, e0 and g0 those with its positive: functions of the records of both alone. *)
Context {S : Space} {Z side : Type}.
Variables (sides : list side) (e : Z * side -> Z * side -> R) (g : Z * side -> Z * side -> S) (e0 : Z * side -> R) (g0 : Z * side -> S).
Variables (w h a : R).
Hypotheses (Hw : 0 <= w) (Hh : 0 <= h) (Ha : 0 < a <= 1).
Hypotheses (He : forall u v, 0 < e u v) (He0 : forall u, 0 < e0 u) (Hg : forall u v, nrm (g u v) <= h) (Hg0 : forall u, nrm (g0 u) <= h).
(* Of one anchor no weight is more than 1/a times another. *)
Hypotheses (ratio : forall u v v', a * e u v <= e u v') (ratio0 : forall u v, a * e u v <= e0 u).
Let c := length sides.

Definition of_pair (u : Z * side) (z : Z) : list (R * S) := map (fun s => (e u (z, s), g u (z, s))) sides.
Definition offered (u : Z * side) (others : list Z) : list (R * S) := flat_map (of_pair u) others.
Definition anchor (u : Z * side) (others : list Z) : S := sub (wmean ((e0 u, g0 u) :: offered u others)) (g0 u).
Definition row (z : Z) (others : list Z) : S := vsum (fun s => anchor (z, s) others) sides.
Fixpoint rows (before after : list Z) : S :=
  match after with nil => zero | z :: after' => add (row z (before ++ after')) (rows (before ++ [z]) after') end.
(* The release, over the public number. *)
Definition gradient (batch : list Z) : S := scale w (rows [] batch).

(* A place of the batch with a pair, or without one. *)
Definition place (x : option Z) : list Z := match x with Some z => [z] | None => [] end.

Lemma offered_app u A B : offered u (A ++ B) = offered u A ++ offered u B.
Proof. apply flat_map_app. Qed.
Lemma offered_length u A : length (offered u A) = (c * length A)%nat.
Proof.
  unfold offered; induction A as [| z A IH]; simpl; [lia |].
  rewrite app_length, IH; unfold of_pair; rewrite map_length; unfold c; lia.
Qed.
Lemma offered_in u A x : In x (offered u A) -> exists v, x = (e u v, g u v).
Proof.
  intros I; apply in_flat_map in I; destruct I as [z [_ I]]; apply in_map_iff in I; destruct I as [s [<- _]]; exists (z, s); reflexivity.
Qed.
Lemma fine_offered u A : fine h (offered u A).
Proof. intros x I; apply offered_in in I; destruct I as [v ->]; simpl; split; auto. Qed.
Lemma fine_all u A : fine h ((e0 u, g0 u) :: offered u A).
Proof. intros x [<- | I]; [simpl; split; auto | apply (fine_offered u A); exact I]. Qed.

(* e(m): of m others one pair is new; the anchor has 1 + c (m - 1) old candidates. *)
Definition e_max (m : nat) : R := INR c / (INR c + INR (1 + c * (m - 1)) * a).

Lemma split_place u A B x :
  tot ((e0 u, g0 u) :: offered u (A ++ place x ++ B)) = tot ((e0 u, g0 u) :: offered u (A ++ B)) + tot (offered u (place x)) /\
  eqv (vec_of ((e0 u, g0 u) :: offered u (A ++ place x ++ B))) (add (vec_of ((e0 u, g0 u) :: offered u (A ++ B))) (vec_of (offered u (place x)))).
Proof.
  split.
  - unfold tot; cbn [rsum]; rewrite !offered_app, !rsum_app; ring.
  - intros v; rewrite dot_add; unfold vec_of; rewrite !dot_vsum; cbn [rsum]; rewrite !offered_app, !rsum_app; ring.
Qed.

Lemma place_share u A B x : part_of ((e0 u, g0 u) :: offered u (A ++ B)) (offered u (place x)) <= e_max (1 + length (A ++ B)).
Proof.
  destruct x as [z |].
  - unfold e_max; apply (new_share h a Ha); [discriminate | apply fine_all | apply fine_offered | | |].
    + rewrite offered_length; simpl; lia.
    + simpl length; rewrite offered_length; replace (1 + length (A ++ B) - 1)%nat with (length (A ++ B)) by lia; lia.
    + intros p q I J; apply offered_in in J; destruct J as [v ->]; destruct I as [<- | I]; simpl; [apply ratio0 |].
      apply offered_in in I; destruct I as [v' ->]; simpl; apply ratio.
  - unfold part_of; simpl tot at 1; unfold Rdiv at 1; unfold tot at 1; simpl rsum at 1; rewrite Rmult_0_l; unfold e_max.
    pose proof (pos_INR c) as C; pose proof (lt_0_INR (1 + c * (1 + length (A ++ B) - 1)) ltac:(lia)).
    apply Rle_mult_inv_pos; [exact C | nra].
Qed.

Lemma anchor_moves u A B x y :
  nrm (sub (anchor u (A ++ place x ++ B)) (anchor u (A ++ place y ++ B))) <= 2 * h * e_max (1 + length (A ++ B)).
Proof.
  set (L := (e0 u, g0 u) :: offered u (A ++ B)).
  assert (N : L <> []) by discriminate.
  assert (F : fine h L) by apply fine_all.
  pose proof (old_anchor h L (offered u (place x)) (offered u (place y)) _ N F (fine_offered _ _) (fine_offered _ _)
    (place_share u A B x) (place_share u A B y)) as H.
  eapply Rle_trans; [apply Req_le, eqv_nrm | exact H].
  destruct (split_place u A B x) as [T V]; destruct (split_place u A B y) as [T' V']; fold L in T, V, T', V'.
  intros v; unfold anchor, wmean; rewrite T, T'; rewrite !dot_sub, !dot_scale, (V v), (V' v); ring.
Qed.

Lemma row_moves z A B x y :
  nrm (sub (row z (A ++ place x ++ B)) (row z (A ++ place y ++ B))) <= INR c * (2 * h * e_max (1 + length (A ++ B))).
Proof.
  rewrite (eqv_nrm _ (vsum (fun s => sub (anchor (z, s) (A ++ place x ++ B)) (anchor (z, s) (A ++ place y ++ B))) sides)).
  - apply (norm_vsum_le (euclid S)); intros s _; apply anchor_moves.
  - intros v; unfold row; rewrite dot_sub, !dot_vsum; clear; induction sides as [| s l IH]; simpl; [ring |]; rewrite dot_sub, <- IH; ring.
Qed.

Definition own_max (m : nat) : R := INR (c * m) / (INR (c * m) + a).

Lemma row_own z others m : (length others <= m)%nat -> nrm (row z others) <= INR c * (2 * h * own_max m).
Proof.
  intros L; apply (norm_vsum_le (euclid S)); intros s _; cbn [norm euclid].
  apply (own_row h a Hh Ha (e0 (z, s), g0 (z, s))).
  - apply fine_all.
  - rewrite offered_length; apply Nat.mul_le_mono_l; exact L.
  - intros q I; apply offered_in in I; destruct I as [v ->]; simpl; apply ratio0.
Qed.

Definition own_part (x : option Z) (others : list Z) : S := match x with Some z => row z others | None => zero end.

Lemma after_place x y C : forall A1 A2 m, (length A1 + length A2 + length C = m)%nat ->
  nrm (sub (rows (A1 ++ place x ++ A2) C) (rows (A1 ++ place y ++ A2) C)) <= INR (length C) * (INR c * (2 * h * e_max m)).
Proof.
  induction C as [| z C IH]; intros A1 A2 m M.
  - cbn [rows length]; rewrite (norm_sub_self (euclid S) zero : nrm _ = 0); simpl; lra.
  - cbn [rows length] in *; rewrite S_INR.
    rewrite (eqv_nrm _ (add (sub (row z (A1 ++ place x ++ (A2 ++ C))) (row z (A1 ++ place y ++ (A2 ++ C))))
      (sub (rows (A1 ++ place x ++ (A2 ++ [z])) C) (rows (A1 ++ place y ++ (A2 ++ [z])) C)))).
    + eapply Rle_trans; [apply nrm_add |].
      pose proof (row_moves z A1 (A2 ++ C) x y) as H; replace (1 + length (A1 ++ A2 ++ C))%nat with m in H by (rewrite !app_length; lia).
      assert (K : (length A1 + length (A2 ++ [z]) + length C = m)%nat) by (rewrite app_length; simpl; lia).
      pose proof (IH A1 (A2 ++ [z]) m K); lra.
    + rewrite <- !app_assoc; intros v; unfold sub; repeat (rewrite dot_add || rewrite dot_scale); ring.
Qed.

Lemma rows_move x y B : forall P A m, (length P + length A + length B = m)%nat ->
  nrm (sub (rows P (A ++ place x ++ B)) (rows P (A ++ place y ++ B))) <=
    INR (length (A ++ B)) * (INR c * (2 * h * e_max m)) + nrm (sub (own_part x (P ++ A ++ B)) (own_part y (P ++ A ++ B))).
Proof.
  intros P A; revert P; induction A as [| z A IH]; intros P m M.
  - cbn [app length] in *.
    assert (Rx : forall x, eqv (rows P (place x ++ B)) (add (own_part x (P ++ B)) (rows (P ++ place x ++ []) B))).
    { intros [z |] v; simpl; [reflexivity |]; rewrite app_nil_r, dot_add, dot_zero; ring. }
    rewrite (eqv_nrm _ (add (sub (rows (P ++ place x ++ []) B) (rows (P ++ place y ++ []) B)) (sub (own_part x (P ++ B)) (own_part y (P ++ B))))).
    + eapply Rle_trans; [apply nrm_add |]; apply Rplus_le_compat_r.
      apply after_place; simpl; lia.
    + intros v; rewrite dot_sub, (Rx x v), (Rx y v); unfold sub; repeat (rewrite dot_add || rewrite dot_scale); ring.
  - cbn [app rows length] in *; rewrite S_INR.
    rewrite (eqv_nrm _ (add (sub (row z ((P ++ A) ++ place x ++ B)) (row z ((P ++ A) ++ place y ++ B)))
      (sub (rows (P ++ [z]) (A ++ place x ++ B)) (rows (P ++ [z]) (A ++ place y ++ B))))).
    + eapply Rle_trans; [apply nrm_add |].
      pose proof (row_moves z (P ++ A) B x y) as H; replace (1 + length ((P ++ A) ++ B))%nat with m in H by (rewrite !app_length; lia).
      assert (K : (length (P ++ [z]) + length A + length B = m)%nat) by (rewrite app_length; simpl; lia).
      pose proof (IH (P ++ [z]) m K) as I; rewrite <- app_assoc in I; simpl in I; lra.
    + rewrite <- !app_assoc; intros v; unfold sub; repeat (rewrite dot_add || rewrite dot_scale); ring.
Qed.

Lemma e_max_pos m : 0 <= e_max m.
Proof.
  unfold e_max; pose proof (pos_INR c); pose proof (lt_0_INR (1 + c * (m - 1)) (Nat.lt_0_succ _)) as P.
  apply Rle_mult_inv_pos; [assumption |]; pose proof (Rmult_lt_0_compat _ _ P (proj1 Ha)); lra.
Qed.

(* Both parts increase with the number of pairs. *)
Lemma fraction_le p q x y : 0 < q -> 0 < y -> p * y <= x * q -> p / q <= x / y.
Proof.
  intros Q Y H; apply (Rmult_le_reg_r q); [exact Q |]; apply (Rmult_le_reg_r y); [exact Y |].
  replace (p / q * q * y) with (p * y) by (field; lra); replace (x / y * q * y) with (x * q) by (field; lra); exact H.
Qed.

Lemma others_grow m M : (1 <= m <= M)%nat -> INR m * e_max m <= INR M * e_max M.
Proof.
  intros H; unfold e_max.
  assert (C : 0 <= INR c) by apply pos_INR.
  rewrite !plus_INR, !mult_INR, !minus_INR by lia; simpl (INR 1).
  assert (A : 1 <= INR m) by (change 1 with (INR 1); apply le_INR; lia).
  assert (B : INR m <= INR M) by (apply le_INR; lia).
  assert (D : forall n, 1 <= n -> 0 < INR c + (1 + INR c * (n - 1)) * a) by (intros n N; assert (0 <= INR c * (n - 1)) by nra; nra).
  pose proof (D _ A) as D1; pose proof (D (INR M) ltac:(lra)) as D2.
  replace (INR m * (INR c / (INR c + (1 + INR c * (INR m - 1)) * a))) with (INR c * (INR m / (INR c + (1 + INR c * (INR m - 1)) * a))) by (field; lra).
  replace (INR M * (INR c / (INR c + (1 + INR c * (INR M - 1)) * a))) with (INR c * (INR M / (INR c + (1 + INR c * (INR M - 1)) * a))) by (field; lra).
  destruct c as [| c']; [simpl; lra |].
  assert (C1 : 1 <= INR (Datatypes.S c')) by (rewrite S_INR; pose proof (pos_INR c'); lra).
  apply Rmult_le_compat_l; [exact C |]; apply fraction_le; [exact D1 | exact D2 |].
  assert (0 <= (INR M - INR m) * (INR (Datatypes.S c') + (1 - INR (Datatypes.S c')) * a)) by (apply Rmult_le_pos; nra).
  nra.
Qed.

Lemma own_grows m M : (m <= M)%nat -> own_max m <= own_max M.
Proof.
  intros H; unfold own_max; rewrite !mult_INR; pose proof (pos_INR c); pose proof (pos_INR m); pose proof (le_INR _ _ H).
  assert (0 <= INR c * INR m) by nra; assert (INR c * INR m <= INR c * INR M) by nra.
  apply fraction_le; nra.
Qed.

Lemma rows_bound m M : (m <= M)%nat -> INR m * (INR c * (2 * h * e_max m)) <= INR c * (2 * h) * (INR M * e_max M).
Proof.
  intros H; destruct m as [| m].
  - simpl (INR 0); rewrite Rmult_0_l; pose proof (pos_INR c); pose proof (pos_INR M); pose proof (e_max_pos M).
    apply Rmult_le_pos; [apply Rmult_le_pos; lra | apply Rmult_le_pos; assumption].
  - pose proof (others_grow (Datatypes.S m) M ltac:(lia)) as G; pose proof (pos_INR c).
    replace (INR (Datatypes.S m) * (INR c * (2 * h * e_max (Datatypes.S m)))) with (INR c * (2 * h) * (INR (Datatypes.S m) * e_max (Datatypes.S m))) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | exact G].
Qed.

(* One pair is added to a batch of at most M pairs. *)
Theorem softmax_added A B z M : (length (A ++ B) <= M)%nat ->
  nrm (sub (gradient (A ++ z :: B)) (gradient (A ++ B))) <= w * (INR c * (2 * h) * (INR M * e_max M + own_max M)).
Proof.
  intros L; unfold gradient.
  rewrite (eqv_nrm _ (scale w (sub (rows [] (A ++ place (Some z) ++ B)) (rows [] (A ++ place None ++ B))))) by (cbn [place app]; vec).
  rewrite nrm_scale, Rabs_pos_eq by exact Hw; apply Rmult_le_compat_l; [exact Hw |].
  eapply Rle_trans; [apply (rows_move (Some z) None B [] A (length (A ++ B))); rewrite app_length; reflexivity |].
  cbn [own_part app].
  rewrite (eqv_nrm (sub (row z (A ++ B)) zero) (row z (A ++ B))) by vec.
  pose proof (rows_bound _ M L); pose proof (row_own z (A ++ B) M L); lra.
Qed.

(* One pair of the batch is replaced, with at most M others. *)
Theorem softmax_replaced A B z z' M : (length (A ++ B) <= M)%nat ->
  nrm (sub (gradient (A ++ z :: B)) (gradient (A ++ z' :: B))) <= w * (INR c * (2 * h) * (INR M * e_max M + 2 * own_max M)).
Proof.
  intros L; unfold gradient.
  rewrite (eqv_nrm _ (scale w (sub (rows [] (A ++ place (Some z) ++ B)) (rows [] (A ++ place (Some z') ++ B))))) by (cbn [place app]; vec).
  rewrite nrm_scale, Rabs_pos_eq by exact Hw; apply Rmult_le_compat_l; [exact Hw |].
  eapply Rle_trans; [apply (rows_move (Some z) (Some z') B [] A (length (A ++ B))); rewrite app_length; reflexivity |].
  cbn [own_part app].
  pose proof (norm_sub (euclid S) (row z (A ++ B)) (row z' (A ++ B))) as T; cbn [norm euclid] in T.
  pose proof (rows_bound _ M L); pose proof (row_own z (A ++ B) M L); pose proof (row_own z' (A ++ B) M L); lra.
Qed.
End Batch.

(* The two losses, with weights e^(s/t) of similarities s in [-1, 1], and the expressions of certificate_softmax.go. *)
Definition D_infonce (t : R) (M : nat) := 2 / t * (INR M / (1 + INR M * exp (- 2 / t)) + INR M / (INR M + exp (- 2 / t))).
Definition Dr_infonce (t : R) (M : nat) := 2 / t * (INR M / (1 + INR M * exp (- 2 / t)) + 2 * INR M / (INR M + exp (- 2 / t))).
Definition D_ntxent (t : R) (M : nat) :=
  2 / t * (2 * INR M / (2 + (2 * INR M - 1) * exp (- 2 / t)) + 2 * INR M / (2 * INR M + exp (- 2 / t))).
Definition Dr_ntxent (t : R) (M : nat) :=
  2 / t * (2 * INR M / (2 + (2 * INR M - 1) * exp (- 2 / t)) + 4 * INR M / (2 * INR M + exp (- 2 / t))).

Section Losses.
Context {S : Space} {Z side : Type}.
Variables (s : Z * side -> Z * side -> R) (g : Z * side -> Z * side -> S) (s0 : Z * side -> R) (g0 : Z * side -> S) (h t : R).
Hypotheses (Hh : 0 <= h) (Ht : 0 < t).
Hypotheses (Hs : forall u v, -1 <= s u v <= 1) (Hs0 : forall u, -1 <= s0 u <= 1).
Hypotheses (Hg : forall u v, nrm (g u v) <= h) (Hg0 : forall u, nrm (g0 u) <= h).

Let e u v := exp (s u v / t).
Let e0 u := exp (s0 u / t).

Lemma a_between : 0 < exp (- 2 / t) <= 1.
Proof.
  split; [apply exp_pos |]; rewrite <- exp_0.
  assert (P : - 2 / t < 0) by (pose proof (Rinv_0_lt_compat t Ht); unfold Rdiv; lra).
  left; apply exp_increasing; exact P.
Qed.

Lemma ratio_of p q : -1 <= p <= 1 -> -1 <= q <= 1 -> exp (- 2 / t) * exp (p / t) <= exp (q / t).
Proof.
  intros P Q; rewrite <- exp_plus.
  assert (L : - 2 / t + p / t <= q / t).
  { replace (- 2 / t + p / t) with ((p - 2) * / t) by (field; lra); unfold Rdiv.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact Ht | lra]. }
  destruct L as [L | ->]; [left; apply exp_increasing; exact L | lra].
Qed.

(* The release of the program, in units that h is a part of: anchors of the given sides, w = 1/(c t) for c sides. *)
Definition infonce (one : side) := gradient [one] e g e0 g0 (/ t).
Definition ntxent (one two : side) := gradient [one; two] e g e0 g0 (/ (2 * t)).

Lemma positive u v : 0 < e u v.
Proof. apply exp_pos. Qed.
Lemma positive0 u : 0 < e0 u.
Proof. apply exp_pos. Qed.
Lemma ratios u v v' : exp (- 2 / t) * e u v <= e u v'.
Proof. apply ratio_of; apply Hs. Qed.
Lemma ratios0 u v : exp (- 2 / t) * e u v <= e0 u.
Proof. apply ratio_of; [apply Hs | apply Hs0]. Qed.

Lemma one_side (one : side) M : INR M * e_max [one] (exp (- 2 / t)) M = INR M / (1 + INR M * exp (- 2 / t)).
Proof.
  pose proof (proj1 a_between) as P; destruct M as [| M]; [simpl (INR 0); unfold Rdiv; ring |].
  unfold e_max; cbn [length]; rewrite Nat.mul_1_l; replace (1 + (Datatypes.S M - 1))%nat with (Datatypes.S M) by lia; simpl (INR 1); unfold Rdiv; ring.
Qed.
Lemma one_own (one : side) M : own_max [one] (exp (- 2 / t)) M = INR M / (INR M + exp (- 2 / t)).
Proof. unfold own_max; cbn [length]; rewrite Nat.mul_1_l; reflexivity. Qed.
Lemma two_sides (one two : side) M : INR M * e_max [one; two] (exp (- 2 / t)) M = 2 * INR M / (2 + (2 * INR M - 1) * exp (- 2 / t)).
Proof.
  destruct M as [| M]; [simpl (INR 0); unfold Rdiv; ring |].
  unfold e_max; cbn [length]; rewrite plus_INR, mult_INR, minus_INR by lia; simpl (INR 1); simpl (INR 2).
  replace (1 + (1 + 1) * (INR (Datatypes.S M) - 1)) with (2 * INR (Datatypes.S M) - 1) by ring; replace (1 + 1) with 2 by ring; unfold Rdiv; ring.
Qed.
Lemma two_own (one two : side) M : own_max [one; two] (exp (- 2 / t)) M = 2 * INR M / (2 * INR M + exp (- 2 / t)).
Proof. unfold own_max; cbn [length]; rewrite mult_INR; simpl (INR 2); replace (1 + 1) with 2 by ring; reflexivity. Qed.

Theorem infonce_added one A B z M : (length (A ++ B) <= M)%nat ->
  nrm (sub (infonce one (A ++ z :: B)) (infonce one (A ++ B))) <= h * D_infonce t M.
Proof.
  intros L.
  eapply Rle_trans; [apply (softmax_added [one] e g e0 g0 (/ t) h (exp (- 2 / t))) with (M := M); auto using positive, positive0, a_between, ratios, ratios0 |].
  - left; apply Rinv_0_lt_compat; exact Ht.
  - rewrite one_side, one_own; unfold D_infonce; cbn [length]; simpl (INR 1); apply Req_le; unfold Rdiv; ring.
Qed.

Theorem infonce_replaced one A B z z' M : (length (A ++ B) <= M)%nat ->
  nrm (sub (infonce one (A ++ z :: B)) (infonce one (A ++ z' :: B))) <= h * Dr_infonce t M.
Proof.
  intros L.
  eapply Rle_trans; [apply (softmax_replaced [one] e g e0 g0 (/ t) h (exp (- 2 / t))) with (M := M); auto using positive, positive0, a_between, ratios, ratios0 |].
  - left; apply Rinv_0_lt_compat; exact Ht.
  - rewrite one_side, one_own; unfold Dr_infonce; cbn [length]; simpl (INR 1); apply Req_le; unfold Rdiv; ring.
Qed.

Theorem ntxent_added one two A B z M : (length (A ++ B) <= M)%nat ->
  nrm (sub (ntxent one two (A ++ z :: B)) (ntxent one two (A ++ B))) <= h * D_ntxent t M.
Proof.
  intros L.
  eapply Rle_trans; [apply (softmax_added [one; two] e g e0 g0 (/ (2 * t)) h (exp (- 2 / t))) with (M := M); auto using positive, positive0, a_between, ratios, ratios0 |].
  - left; apply Rinv_0_lt_compat; lra.
  - rewrite two_sides, two_own; unfold D_ntxent; cbn [length]; simpl (INR 2); rewrite Rinv_mult; apply Req_le; unfold Rdiv; field.
    pose proof a_between; pose proof (pos_INR M); repeat split; nra.
Qed.

Theorem ntxent_replaced one two A B z z' M : (length (A ++ B) <= M)%nat ->
  nrm (sub (ntxent one two (A ++ z :: B)) (ntxent one two (A ++ z' :: B))) <= h * Dr_ntxent t M.
Proof.
  intros L.
  eapply Rle_trans; [apply (softmax_replaced [one; two] e g e0 g0 (/ (2 * t)) h (exp (- 2 / t))) with (M := M); auto using positive, positive0, a_between, ratios, ratios0 |].
  - left; apply Rinv_0_lt_compat; lra.
  - rewrite two_sides, two_own; unfold Dr_ntxent; cbn [length]; simpl (INR 2); rewrite Rinv_mult; apply Req_le; unfold Rdiv; field.
    pose proof a_between; pose proof (pos_INR M); repeat split; nra.
Qed.

(* What the certificate takes for a replaced pair lies between the bound of an added one and twice that. *)
Theorem replaced_between M : D_infonce t M <= Dr_infonce t M <= 2 * D_infonce t M /\ D_ntxent t M <= Dr_ntxent t M <= 2 * D_ntxent t M.
Proof.
  pose proof a_between as A; set (a := exp (- 2 / t)) in *.
  assert (T : 0 < 2 / t) by (apply Rdiv_lt_0_compat; lra).
  pose proof (pos_INR M) as P.
  assert (N : 0 <= INR M / (1 + INR M * a)) by (apply Rle_mult_inv_pos; [exact P | nra]).
  assert (O : 0 <= INR M / (INR M + a)) by (apply Rle_mult_inv_pos; lra).
  assert (N' : 0 <= 2 * INR M / (2 + (2 * INR M - 1) * a)) by (apply Rle_mult_inv_pos; [lra | nra]).
  assert (O' : 0 <= 2 * INR M / (2 * INR M + a)) by (apply Rle_mult_inv_pos; lra).
  assert (E : Dr_infonce t M = 2 / t * (INR M / (1 + INR M * a) + 2 * (INR M / (INR M + a)))) by (unfold Dr_infonce; fold a; unfold Rdiv; ring).
  assert (E' : Dr_ntxent t M = 2 / t * (2 * INR M / (2 + (2 * INR M - 1) * a) + 2 * (2 * INR M / (2 * INR M + a)))) by (unfold Dr_ntxent; fold a; unfold Rdiv; ring).
  rewrite E, E'; unfold D_infonce, D_ntxent; fold a; repeat split; nra.
Qed.
End Losses.
