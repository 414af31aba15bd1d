(* Sums of records and of their second moments: docs/theory.md 11.2 to 11.7 and 9.11. A record is within public bounds: its
   vector has norm at most R, its weight at most W in magnitude. Vectors are in R^d for any d. *)
From Coq Require Import Reals Lra Psatz List.
From Dyad Require Import Space.
Open Scope R_scope.

(* J(alpha, beta) of docs/theory.md 11.5, and the expression that jointBound of certificate_moments.go computes. *)
Definition J (alpha beta : R) : R :=
  if Rle_dec (2 * beta) alpha then 2 * sqrt alpha else sqrt (2 * alpha + 2 * beta + alpha * alpha / (2 * beta)).
Definition joint_bound (first second : R) : R :=
  if Rlt_dec (first / second * (first / second)) 2
  then second * sqrt (2 + 2 * (first / second * (first / second)) + first / second * (first / second) * (first / second * (first / second)) / 2)
  else 2 * first.

Theorem joint_bound_is_J first second : 0 < first -> 0 < second -> joint_bound first second = J (first * first) (second * second).
Proof.
  intros F S; unfold joint_bound, J.
  assert (E : first / second * (first / second) = first * first / (second * second)) by (field; lra).
  assert (P : 0 < second * second) by nra.
  rewrite E; destruct (Rlt_dec (first * first / (second * second)) 2) as [L | L];
    destruct (Rle_dec (2 * (second * second)) (first * first)) as [M | M].
  - exfalso; apply (Rmult_lt_compat_r (second * second)) in L; [| exact P].
    replace (first * first / (second * second) * (second * second)) with (first * first) in L by (field; lra); lra.
  - rewrite <- (sqrt_square second) at 1 by lra; rewrite <- sqrt_mult_alt by nra; f_equal; field; lra.
  - rewrite sqrt_square by lra; reflexivity.
  - exfalso; apply L; apply (Rmult_lt_reg_r (second * second)); [exact P |].
    replace (first * first / (second * second) * (second * second)) with (first * first) by (field; lra); lra.
Qed.

Lemma J_pos alpha beta : 0 <= J alpha beta.
Proof.
  unfold J; destruct (Rle_dec (2 * beta) alpha); [pose proof (sqrt_pos alpha); lra | apply sqrt_pos].
Qed.

(* The two facts that J rests on: its square covers 2 alpha (1 + t) + 2 beta (1 - t^2) for every t in [0, 1]. *)
Lemma J_covers alpha beta t : 0 <= alpha -> 0 < beta -> 0 <= t <= 1 ->
  2 * alpha * (1 + t) + 2 * beta * (1 - t * t) <= J alpha beta * J alpha beta.
Proof.
  intros A B T; unfold J; destruct (Rle_dec (2 * beta) alpha) as [L | L].
  - replace (2 * sqrt alpha * (2 * sqrt alpha)) with (4 * (sqrt alpha * sqrt alpha)) by ring.
    rewrite sqrt_sqrt by lra.
    assert (0 <= (1 - t) * (alpha - beta * (1 + t))) by (apply Rmult_le_pos; nra); nra.
  - rewrite sqrt_sqrt.
    + assert (H : 0 <= (alpha - 2 * beta * t) * (alpha - 2 * beta * t) / (2 * beta)).
      { apply Rle_mult_inv_pos; [apply Rle_0_sqr | lra]. }
      replace ((alpha - 2 * beta * t) * (alpha - 2 * beta * t) / (2 * beta))
        with (alpha * alpha / (2 * beta) - 2 * alpha * t + 2 * beta * (t * t)) in H by (field; lra); lra.
    + assert (0 <= alpha * alpha / (2 * beta))
        by (apply Rle_mult_inv_pos; nra); lra.
Qed.

Section Moments.
Context {d : nat}.
Notation V := (Vec d).
Implicit Types x y : V.

Variables (R W : R).
Hypotheses (HR : 0 < R) (HW : 0 < W).

Lemma inner_small x y : nrm x <= R -> nrm y <= R -> Rabs (dot x y) <= R * R.
Proof. intros A B; pose proof (cauchy x y); pose proof (nrm_pos x); pose proof (nrm_pos y); nra. Qed.

(* a x, |a| <= W *)
Definition weighted (z : Datatypes.prod Rdefinitions.R V) : V := scale (fst z) (snd z).
Definition bounded (z : Datatypes.prod Rdefinitions.R V) := Rabs (fst z) <= W /\ nrm (snd z) <= R.

Lemma weighted_norm z : bounded z -> nrm (weighted z) <= W * R.
Proof.
  intros [A B]; unfold weighted; rewrite nrm_scale.
  pose proof (Rabs_pos (fst z)); pose proof (nrm_pos (snd z)); nra.
Qed.

Theorem signed_sum : sensitivity nrm bounded (vsum weighted) (2 * W * R).
Proof.
  apply (sum_over_records (euclid V)); intros z z' Hz Hz'; simpl.
  pose proof (norm_sub (euclid V) (weighted z) (weighted z')) as H; simpl in H.
  pose proof (weighted_norm z Hz); pose proof (weighted_norm z' Hz'); lra.
Qed.

(* x x^T *)
Definition small x := nrm x <= R.

Lemma square_le x : small x -> dot x x <= R * R.
Proof. apply dot_le. Qed.

Lemma fourth_le x : small x -> dot x x * dot x x <= R * R * (R * R).
Proof. intros H; pose proof (square_le x H); pose proof (dot_pos V x); nra. Qed.

Lemma outer_distance x y : small x -> small y ->
  dot (sub (outer x) (outer y)) (sub (outer x) (outer y)) <= 2 * (R * R * (R * R)) - 2 * (dot x y * dot x y).
Proof.
  intros A B; rewrite dot_sub_sub, !dot_outer.
  pose proof (fourth_le x A); pose proof (fourth_le y B); lra.
Qed.

Lemma sqrt2 : sqrt 2 * sqrt 2 = 2.
Proof. apply sqrt_sqrt; lra. Qed.

Theorem second_moments : sensitivity nrm small (vsum (@outer d)) (sqrt 2 * (R * R)).
Proof.
  apply (sum_over_records (euclid (Mat d))); intros x y A B; cbn [norm euclid].
  apply nrm_le; [apply Rmult_le_pos; [apply sqrt_pos | nra] |].
  eapply Rle_trans; [apply (outer_distance x y A B) |].
  pose proof (Rle_0_sqr (dot x y)) as Q; unfold Rsqr in Q.
  replace (sqrt 2 * (R * R) * (sqrt 2 * (R * R))) with (sqrt 2 * sqrt 2 * (R * R * (R * R))) by ring.
  rewrite sqrt2; lra.
Qed.

Lemma diagonal_sub (a b : Mat d) : dot (sub (diagonal a) (diagonal b)) (sub (diagonal a) (diagonal b)) <= dot (sub a b) (sub a b).
Proof. exact (diagonal_le (sub a b)). Qed.

Theorem diagonal_moments : sensitivity nrm small (vsum (fun x => diagonal (outer x))) (sqrt 2 * (R * R)).
Proof.
  apply (sum_over_records (euclid V)); intros x y A B; cbn [norm euclid].
  apply nrm_le; [apply Rmult_le_pos; [apply sqrt_pos | nra] |].
  eapply Rle_trans; [apply diagonal_sub | eapply Rle_trans; [apply (outer_distance x y A B) |]].
  pose proof (Rle_0_sqr (dot x y)) as Q; unfold Rsqr in Q.
  replace (sqrt 2 * (R * R) * (sqrt 2 * (R * R))) with (sqrt 2 * sqrt 2 * (R * R * (R * R))) by ring.
  rewrite sqrt2; lra.
Qed.

(* (a x, k x x^T) *)
Lemma weighted_distance z z' : bounded z -> bounded z' ->
  dot (sub (weighted z) (weighted z')) (sub (weighted z) (weighted z')) <=
    2 * (W * R * (W * R)) + 2 * (W * W) * Rabs (dot (snd z) (snd z')).
Proof.
  intros A B; rewrite dot_sub_sub.
  pose proof (dot_le _ _ (weighted_norm z A)) as P; pose proof (dot_le _ _ (weighted_norm z' B)) as Q.
  assert (C : - dot (weighted z) (weighted z') <= W * W * Rabs (dot (snd z) (snd z'))).
  { unfold weighted; rewrite dot_scale, dot_scaler.
    pose proof (Rle_abs (- (fst z * (fst z' * dot (snd z) (snd z'))))) as H.
    rewrite Rabs_Ropp, !Rabs_mult in H.
    destruct A as [A _]; destruct B as [B _].
    pose proof (Rabs_pos (fst z)); pose proof (Rabs_pos (fst z')); pose proof (Rabs_pos (dot (snd z) (snd z'))).
    assert (Rabs (fst z) * Rabs (fst z') <= W * W) by nra.
    eapply Rle_trans; [exact H |]; rewrite <- Rmult_assoc; apply Rmult_le_compat_r; assumption. }
  lra.
Qed.

Lemma joint_distance k z z' : 0 < k -> bounded z -> bounded z' ->
  dot (sub (weighted z) (weighted z')) (sub (weighted z) (weighted z')) +
    k * k * dot (sub (outer (snd z)) (outer (snd z'))) (sub (outer (snd z)) (outer (snd z'))) <=
  J (W * R * (W * R)) (k * (R * R) * (k * (R * R))) * J (W * R * (W * R)) (k * (R * R) * (k * (R * R))).
Proof.
  intros K A B.
  pose proof (weighted_distance z z' A B) as F; pose proof (outer_distance _ _ (proj2 A) (proj2 B)) as G.
  pose proof (inner_small _ _ (proj2 A) (proj2 B)) as I; pose proof (Rabs_pos (dot (snd z) (snd z'))) as P.
  set (s := dot (snd z) (snd z')) in *.
  assert (Q : s * s = Rabs s * Rabs s) by (unfold Rabs; destruct (Rcase_abs s); ring).
  set (t := Rabs s / (R * R)).
  assert (RR : 0 < R * R) by nra.
  assert (T : 0 <= t <= 1).
  { unfold t; split; [apply Rle_mult_inv_pos; assumption |].
    apply (Rmult_le_reg_r (R * R)); [exact RR |]; replace (Rabs s / (R * R) * (R * R)) with (Rabs s) by (field; lra); lra. }
  assert (ST : Rabs s = t * (R * R)) by (unfold t; field; lra).
  eapply Rle_trans; [| apply (J_covers _ _ t); [nra | | exact T]].
  - rewrite Q, ST in *.
    assert (KK : 0 < k * k) by nra.
    eapply Rle_trans; [apply Rplus_le_compat; [exact F | apply Rmult_le_compat_l; [lra | exact G]] |].
    apply Req_le; ring.
  - assert (0 < k * (R * R)) by nra; nra.
Qed.

Definition joint k (z : Datatypes.prod Rdefinitions.R V) : Pair V (Mat d) := (weighted z, scale k (outer (snd z))).
Definition joint_diagonal k (z : Datatypes.prod Rdefinitions.R V) : Pair V V := (weighted z, scale k (diagonal (outer (snd z)))).

Lemma dot_scaled_sub {S : Space} k (a b : S) :
  dot (sub (scale k a) (scale k b)) (sub (scale k a) (scale k b)) = k * k * dot (sub a b) (sub a b).
Proof. rewrite !dot_sub_sub, !dot_scale, !dot_scaler; ring. Qed.

Theorem joint_moments k : 0 < k ->
  sensitivity nrm bounded (vsum (joint k)) (J (W * R * (W * R)) (k * (R * R) * (k * (R * R)))).
Proof.
  intros K; apply (sum_over_records (euclid (Pair V (Mat d)))); intros z z' A B; cbn [norm euclid].
  apply nrm_le; [apply J_pos |].
  change (dot (sub (weighted z) (weighted z')) (sub (weighted z) (weighted z')) +
    dot (sub (scale k (outer (snd z))) (scale k (outer (snd z')))) (sub (scale k (outer (snd z))) (scale k (outer (snd z')))) <=
    J (W * R * (W * R)) (k * (R * R) * (k * (R * R))) * J (W * R * (W * R)) (k * (R * R) * (k * (R * R)))).
  rewrite dot_scaled_sub; apply joint_distance; assumption.
Qed.

Theorem joint_moments_diagonal k : 0 < k ->
  sensitivity nrm bounded (vsum (joint_diagonal k)) (J (W * R * (W * R)) (k * (R * R) * (k * (R * R)))).
Proof.
  intros K; apply (sum_over_records (euclid (Pair V V))); intros z z' A B; cbn [norm euclid].
  apply nrm_le; [apply J_pos |].
  change (dot (sub (weighted z) (weighted z')) (sub (weighted z) (weighted z')) +
    dot (sub (scale k (diagonal (outer (snd z)))) (scale k (diagonal (outer (snd z')))))
        (sub (scale k (diagonal (outer (snd z)))) (scale k (diagonal (outer (snd z'))))) <=
    J (W * R * (W * R)) (k * (R * R) * (k * (R * R))) * J (W * R * (W * R)) (k * (R * R) * (k * (R * R)))).
  rewrite dot_scaled_sub.
  pose proof (joint_distance k z z' K A B) as H; pose proof (diagonal_sub (outer (snd z)) (outer (snd z'))) as D.
  assert (0 < k * k) by nra.
  eapply Rle_trans; [apply Rplus_le_compat_l, Rmult_le_compat_l; [lra | exact D] | exact H].
Qed.

End Moments.

(* A number in [0, 1] a record. *)
Theorem positive_count : sensitivity (S := Line) nrm (fun t : R => 0 <= t <= 1) (vsum (S := Line) (fun t => t)) 1.
Proof.
  apply (sum_over_records (euclid Line)); intros t t' A B; cbn [norm euclid].
  apply nrm_le; [lra |]; unfold sub; simpl; nra.
Qed.

Theorem second_moment_line (B : R) : 0 < B -> sensitivity (S := Mat 1) nrm (fun x : Vec 1 => nrm x <= B) (vsum (@outer 1)) (B * B).
Proof.
  intros P; apply (sum_over_records (euclid (Mat 1))); intros x y Hx Hy; cbn [norm euclid].
  apply dot_le in Hx; apply dot_le in Hy; simpl in Hx, Hy.
  apply nrm_le; [nra |].
  eapply Rle_trans; [apply Req_le, (dot_sub_sub (outer x) (outer y)) |].
  rewrite !dot_outer; simpl.
  set (u := x 0%nat * x 0%nat) in *; set (v := y 0%nat * y 0%nat) in *.
  assert (0 <= u) by (unfold u; nra); assert (0 <= v) by (unfold v; nra).
  assert (E : (0 + x 0%nat * y 0%nat) * (0 + x 0%nat * y 0%nat) = u * v) by (unfold u, v; ring).
  rewrite E; nra.
Qed.
