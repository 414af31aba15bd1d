(* The spread rides free, which the program does not use yet (docs/theory.md 3.12), and clipped differences within groups (11.20). *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space Moments.
Import ListNotations.
Open Scope R_scope.

(* With phi the golden ratio, phi^5/4 = (11 + 5 sqrt 5)/8: the largest a^2 at which the spread is free. *)
Definition free_square : R := (11 + 5 * sqrt 5) / 8.

Lemma sqrt5 : sqrt 5 * sqrt 5 = 5.
Proof. apply sqrt_sqrt; lra. Qed.

Lemma sqrt5_between : 2.236067 <= sqrt 5 <= 2.236068.
Proof.
  pose proof sqrt5; pose proof (sqrt_pos 5); split.
  - apply Rnot_lt_le; intros L; nra.
  - apply Rnot_lt_le; intros L; nra.
Qed.

Theorem free_up_to : 1.66509 * 1.66509 <= free_square.
Proof. unfold free_square; pose proof sqrt5_between; lra. Qed.

Lemma free_cubic b t : 0 <= b <= free_square -> 0 <= t <= 1 -> b * (1 - t) * ((1 + t) * (1 + t)) <= 3 + t.
Proof.
  unfold free_square; intros [P Q] T; pose proof sqrt5 as F; pose proof sqrt5_between as I.
  assert (G : (11 + 5 * sqrt 5) / 8 * ((1 - t) * ((1 + t) * (1 + t))) <= 3 + t).
  { assert (E : 3 + t - (11 + 5 * sqrt 5) / 8 * ((1 - t) * ((1 + t) * (1 + t))) =
      (11 + 5 * sqrt 5) / 8 * ((t - (sqrt 5 - 2)) * (t - (sqrt 5 - 2)) * (t + (2 * sqrt 5 - 3)))).
    { field [F]. }
    assert (0 <= (11 + 5 * sqrt 5) / 8 * ((t - (sqrt 5 - 2)) * (t - (sqrt 5 - 2)) * (t + (2 * sqrt 5 - 3)))).
    { apply Rmult_le_pos; [lra |]; apply Rmult_le_pos; [apply Rle_0_sqr | lra]. }
    lra. }
  assert (0 <= (1 - t) * ((1 + t) * (1 + t))) by (apply Rmult_le_pos; [lra | apply Rle_0_sqr]).
  rewrite Rmult_assoc; eapply Rle_trans; [apply Rmult_le_compat_r; [assumption | exact Q] | exact G].
Qed.

(* p >= q are the norms of both versions of a record, p at most 1. *)
Lemma spread_numbers b p q : 0 <= b <= free_square -> 0 <= q <= p -> p <= 1 ->
  (p + q) * (p + q) + b * ((p * p - q * q) * (p * p - q * q)) <= 4.
Proof.
  intros B Q P; destruct (Req_dec p 0) as [Z | N]; [rewrite Z in *; assert (q = 0) by lra; subst q; lra |].
  set (t := q / p).
  assert (E : q = t * p) by (unfold t; field; lra).
  assert (T : 0 <= t <= 1).
  { unfold t; split; [apply Rle_mult_inv_pos; lra |].
    apply (Rmult_le_reg_r p); [lra |]; replace (q / p * p) with q by (field; lra); lra. }
  pose proof (free_cubic b t B T) as C.
  assert (C' : (1 - t) * (b * (1 - t) * ((1 + t) * (1 + t))) <= (1 - t) * (3 + t)) by (apply Rmult_le_compat_l; lra).
  rewrite E.
  assert (PP : 0 <= p * p <= 1) by nra.
  replace ((p + t * p) * (p + t * p) + b * ((p * p - t * p * (t * p)) * (p * p - t * p * (t * p))))
    with (p * p * ((1 + t) * (1 + t)) + p * p * (p * p) * ((1 - t) * (b * (1 - t) * ((1 + t) * (1 + t))))) by ring.
  assert (0 <= (1 - t) * (3 + t)) by (apply Rmult_le_pos; lra).
  assert (p * p * (p * p) <= 1) by nra.
  assert (0 <= (1 + t) * (1 + t)) by apply Rle_0_sqr.
  assert (p * p * ((1 + t) * (1 + t)) <= (1 + t) * (1 + t)) by nra.
  assert (p * p * (p * p) * ((1 - t) * (b * (1 - t) * ((1 + t) * (1 + t)))) <= (1 - t) * (3 + t)) by nra.
  nra.
Qed.

(* (sum of x, a times the sum of |x|^2), |x| <= 1: what the first part costs alone. *)
Theorem free_spread {S : Space} a : a * a <= free_square ->
  sensitivity nrm (fun x : S => nrm x <= 1) (vsum (fun x : S => (x, a * dot x x) : Pair S Line)) 2.
Proof.
  intros A; apply (sum_over_records (euclid (Pair S Line))); intros x y X Y; cbn [norm euclid].
  apply nrm_le; [lra |].
  eapply Rle_trans; [apply Req_le; exact (dot_pair x y (a * dot x x : Line) (a * dot y y)) |].
  rewrite dot_line, dot_sub_sub, <- (nrm_sqr x), <- (nrm_sqr y).
  pose proof (cauchy x y) as C; pose proof (Rle_abs (- dot x y)) as I; rewrite Rabs_Ropp in I.
  pose proof (nrm_pos x); pose proof (nrm_pos y).
  assert (B : 0 <= a * a <= free_square) by (split; [apply Rle_0_sqr | exact A]).
  destruct (Rle_dec (nrm y) (nrm x)).
  - pose proof (spread_numbers (a * a) (nrm x) (nrm y) B ltac:(lra) X); nra.
  - pose proof (spread_numbers (a * a) (nrm y) (nrm x) B ltac:(lra) Y); nra.
Qed.

(* A group of m records whose members, sizes and places are public: the mean over its pairs i < j of a function of a pair, over m.
   A data set is a list of groups. *)
Section Groups.
Context {Z : Type} {S : Space} (N : Norm S).
Variables (ok : Z -> Prop) (f : Z -> Z -> S) (c : R).
Hypothesis Hc : 0 <= c.
Hypothesis left : forall z z' o, ok z -> ok z' -> ok o -> N (sub (f z o) (f z' o)) <= c.
Hypothesis right : forall z z' o, ok z -> ok z' -> ok o -> N (sub (f o z) (f o z')) <= c.

Fixpoint pairs (l : list Z) : S := match l with nil => zero | z :: l' => add (vsum (f z) l') (pairs l') end.
Definition group (l : list Z) : S := scale (/ INR (length l)) (pairs l).

Lemma pairs_replaced A B z z' : Forall ok A -> Forall ok B -> ok z -> ok z' ->
  N (sub (pairs (A ++ z :: B)) (pairs (A ++ z' :: B))) <= INR (length (A ++ B)) * c.
Proof.
  intros HA HB Hz Hz'; induction HA as [| y A Hy HA IH].
  - simpl app; simpl pairs.
    rewrite (norm_eqv N _ (vsum (fun o => sub (f z o) (f z' o)) B)).
    + apply norm_vsum_le; intros o I; rewrite Forall_forall in HB; apply left; auto.
    + intros w; rewrite dot_sub, !dot_add, !dot_vsum.
      clear HB; induction B as [| o B IB]; simpl; [ring |]; rewrite dot_sub, <- (Rplus_eq_compat_l _ _ _ IB); ring.
  - simpl app; simpl pairs; simpl length; rewrite S_INR.
    rewrite (norm_eqv N _ (add (sub (f y z) (f y z')) (sub (pairs (A ++ z :: B)) (pairs (A ++ z' :: B))))).
    + eapply Rle_trans; [apply norm_add |]; pose proof (right z z' y Hz Hz' Hy); lra.
    + intros w; rewrite dot_sub, !dot_add, !dot_sub, !dot_vsum, !rsum_app; simpl; ring.
Qed.

Lemma group_replaced A B z z' : Forall ok A -> Forall ok B -> ok z -> ok z' ->
  N (sub (group (A ++ z :: B)) (group (A ++ z' :: B))) <= c * (1 - / INR (length (A ++ z :: B))).
Proof.
  intros HA HB Hz Hz'; unfold group.
  assert (L : length (A ++ z' :: B) = length (A ++ z :: B)) by (rewrite !app_length; reflexivity).
  assert (M : INR (length (A ++ B)) = INR (length (A ++ z :: B)) - 1).
  { rewrite !app_length; simpl; rewrite Nat.add_succ_r, S_INR; ring. }
  assert (P : 0 < INR (length (A ++ z :: B))) by (apply lt_0_INR; rewrite app_length; simpl; lia).
  rewrite L, (norm_eqv N _ (scale (/ INR (length (A ++ z :: B))) (sub (pairs (A ++ z :: B)) (pairs (A ++ z' :: B))))) by vec.
  rewrite norm_scale, Rabs_pos_eq by (left; apply Rinv_0_lt_compat; exact P).
  pose proof (pairs_replaced A B z z' HA HB Hz Hz') as H; rewrite M in H.
  replace (c * (1 - / INR (length (A ++ z :: B)))) with (/ INR (length (A ++ z :: B)) * ((INR (length (A ++ z :: B)) - 1) * c)) by (field; lra).
  apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; exact P | exact H].
Qed.

(* One record of one group is replaced; m bounds the size of groups. *)
Theorem groups (m : nat) before after A B z z' :
  (length (A ++ z :: B) <= m)%nat -> Forall ok A -> Forall ok B -> ok z -> ok z' ->
  N (sub (vsum group (before ++ (A ++ z :: B) :: after)) (vsum group (before ++ (A ++ z' :: B) :: after))) <= c * (1 - / INR m).
Proof.
  intros L HA HB Hz Hz'.
  rewrite (norm_eqv N _ (sub (group (A ++ z :: B)) (group (A ++ z' :: B)))).
  - eapply Rle_trans; [apply group_replaced; assumption |].
    assert (P : 0 < INR (length (A ++ z :: B))) by (apply lt_0_INR; rewrite app_length; simpl; lia).
    apply Rmult_le_compat_l; [exact Hc |].
    apply Rplus_le_compat_l, Ropp_le_contravar, Rinv_le_contravar; [exact P | apply le_INR; exact L].
  - intros w; rewrite !dot_sub, !dot_vsum, !rsum_app; simpl; ring.
Qed.
End Groups.

(* The three sums of privacy over clipped differences: the difference of a pair, clipped to radius r, with a weight of at most A. *)
Section Differences.
Context {d : nat} {Z : Type}.
Variables (r A : R) (weight : Z -> Z -> R) (difference : Z -> Z -> Vec d).
Hypotheses (Hr : 0 < r) (HA : 0 < A).
Hypothesis weighs : forall z z', Rabs (weight z z') <= A.
Hypothesis clipped : forall z z', nrm (difference z z') <= r.

Definition weighted_difference (z z' : Z) : Vec d := scale (weight z z') (difference z z').
Definition square_difference (z z' : Z) : Mat d := outer (difference z z').
Definition joint_difference k (z z' : Z) : Pair (Vec d) (Mat d) := joint k (weight z z', difference z z').

Lemma admitted z z' : bounded r A (weight z z', difference z z').
Proof. split; simpl; auto. Qed.

Theorem clipped_differences m before after X Y z z' : (length (X ++ z :: Y) <= m)%nat ->
  nrm (sub (vsum (group weighted_difference) (before ++ (X ++ z :: Y) :: after))
           (vsum (group weighted_difference) (before ++ (X ++ z' :: Y) :: after))) <= 2 * r * A * (1 - / INR m).
Proof.
  intros L; replace (2 * r * A) with (2 * A * r) by ring.
  apply (groups (euclid (Vec d)) (fun _ => True)); try (apply Forall_forall); auto; [nra | |]; intros u v o _ _ _.
  - exact (term_distance (euclid (Vec d)) _ _ _ (signed_sum r A) (weight u o, difference u o) (weight v o, difference v o) (admitted u o) (admitted v o)).
  - exact (term_distance (euclid (Vec d)) _ _ _ (signed_sum r A) (weight o u, difference o u) (weight o v, difference o v) (admitted o u) (admitted o v)).
Qed.

Theorem clipped_squares m before after X Y z z' : (length (X ++ z :: Y) <= m)%nat ->
  nrm (sub (vsum (group square_difference) (before ++ (X ++ z :: Y) :: after))
           (vsum (group square_difference) (before ++ (X ++ z' :: Y) :: after))) <= sqrt 2 * (r * r) * (1 - / INR m).
Proof.
  intros L; pose proof (sqrt_pos 2).
  apply (groups (euclid (Mat d)) (fun _ => True)); try (apply Forall_forall); auto; [nra | |]; intros u v o _ _ _.
  - exact (term_distance (euclid (Mat d)) _ _ _ (second_moments r) (difference u o) (difference v o) (clipped u o) (clipped v o)).
  - exact (term_distance (euclid (Mat d)) _ _ _ (second_moments r) (difference o u) (difference o v) (clipped o u) (clipped o v)).
Qed.

Theorem clipped_jointly k m before after X Y z z' : 0 < k -> (length (X ++ z :: Y) <= m)%nat ->
  nrm (sub (vsum (group (joint_difference k)) (before ++ (X ++ z :: Y) :: after))
           (vsum (group (joint_difference k)) (before ++ (X ++ z' :: Y) :: after))) <=
    J (A * r * (A * r)) (k * (r * r) * (k * (r * r))) * (1 - / INR m).
Proof.
  intros K L.
  apply (groups (euclid (Pair (Vec d) (Mat d))) (fun _ => True)); try (apply Forall_forall); auto; [apply J_pos | |]; intros u v o _ _ _.
  - exact (term_distance (euclid (Pair (Vec d) (Mat d))) _ _ _ (joint_moments r A Hr k K)
      (weight u o, difference u o) (weight v o, difference v o) (admitted u o) (admitted v o)).
  - exact (term_distance (euclid (Pair (Vec d) (Mat d))) _ _ _ (joint_moments r A Hr k K)
      (weight o u, difference o u) (weight o v, difference o v) (admitted o u) (admitted o v)).
Qed.
End Differences.
