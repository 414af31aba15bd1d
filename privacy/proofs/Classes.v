(* Sums by class, and by cell of a partition: docs/theory.md 11.2, 11.4, 11.6, 11.16 and 13.3. A record is in one class or in
   none, and its vector is in R^d, of norm at most R. *)
From Coq Require Import Reals Lra Psatz List Arith.
From Dyad Require Import Space Moments.
Open Scope R_scope.

Inductive class := Positive | Negative | Neither.

(* A record: its class, its share of the positives and its vector. *)
Definition record (d : nat) := (class * R * Vec d)%type.
Definition cls {d} (z : record d) := fst (fst z).
Definition share {d} (z : record d) := snd (fst z).
Definition vector {d} (z : record d) : Vec d := snd z.

Definition within {d} (B : R) (z : record d) := nrm (vector z) <= B /\ 0 <= share z <= 1 /\
  match cls z with Positive => share z = 1 | Negative => share z = 0 | Neither => True end.

Definition of_class {S : Space} (c k : class) (v : S) : S :=
  match c, k with Positive, Positive => v | Negative, Negative => v | _, _ => zero end.

Ltac opened := unfold sub; simpl; rewrite ?dot_add, ?dot_addr, ?dot_scale, ?dot_scaler, ?dot_zero, ?dot_zeror.

(* What the parts of two classes move: one part by a difference, or two parts by a vector each. *)
Lemma class_parts {S : Space} (c c' : class) (v v' : S) :
  dot (sub (of_class c Positive v) (of_class c' Positive v')) (sub (of_class c Positive v) (of_class c' Positive v')) +
  dot (sub (of_class c Negative v) (of_class c' Negative v')) (sub (of_class c Negative v) (of_class c' Negative v')) <=
  if match c, c' with Positive, Positive => true | Negative, Negative => true | _, _ => false end
  then dot (sub v v') (sub v v') else dot v v + dot v' v'.
Proof.
  pose proof (dot_pos S v); pose proof (dot_pos S v').
  destruct c, c'; simpl; rewrite !dot_sub_sub, ?dot_zero, ?dot_zeror; lra.
Qed.

Section Classes.
Context {d : nat}.
Variable B : R.
Hypothesis HB : 0 < B.

Lemma count_square (z z' : record d) c : within B z -> within B z' ->
  c * (share z - share z') * (c * (share z - share z')) <= c * c.
Proof.
  intros [_ [A _]] [_ [A' _]].
  replace (c * (share z - share z') * (c * (share z - share z'))) with (c * c * ((share z - share z') * (share z - share z'))) by ring.
  assert ((share z - share z') * (share z - share z') <= 1) by nra.
  pose proof (Rle_0_sqr c) as Q; unfold Rsqr in Q; nra.
Qed.

Lemma same_class (z z' : record d) : within B z -> within B z' ->
  match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end = true -> share z = share z'.
Proof.
  intros [_ [_ A]] [_ [_ A']]; destruct (cls z), (cls z'); intros E; try discriminate; congruence.
Qed.

(* (S+, S-, c n+) *)
Definition class_sum c (z : record d) : Pair (Pair (Vec d) (Vec d)) Line :=
  ((of_class (cls z) Positive (vector z), of_class (cls z) Negative (vector z)), c * share z).

Lemma class_sum_distance c (z z' : record d) : dot (sub (class_sum c z) (class_sum c z')) (sub (class_sum c z) (class_sum c z')) =
  dot (sub (of_class (cls z) Positive (vector z)) (of_class (cls z') Positive (vector z')))
      (sub (of_class (cls z) Positive (vector z)) (of_class (cls z') Positive (vector z'))) +
  dot (sub (of_class (cls z) Negative (vector z)) (of_class (cls z') Negative (vector z')))
      (sub (of_class (cls z) Negative (vector z)) (of_class (cls z') Negative (vector z'))) +
  c * (share z - share z') * (c * (share z - share z')).
Proof.
  transitivity (dot (sub (class_sum c z) (class_sum c z')) (sub (class_sum c z) (class_sum c z')) -
    (c * share z - c * share z') * (c * share z - c * share z') + c * (share z - share z') * (c * (share z - share z'))); [ring |].
  rewrite <- (dot_line (c * share z) (c * share z')).
  apply f_equal2; [| reflexivity].
  apply (Rplus_eq_reg_r (@dot Line (sub (c * share z : Line) (c * share z')) (sub (c * share z : Line) (c * share z')))).
  unfold Rminus; rewrite Rplus_assoc, Rplus_opp_l, Rplus_0_r; reflexivity.
Qed.

Theorem class_sums c : c * c <= 2 * (B * B) -> sensitivity nrm (within B) (vsum (class_sum c)) (2 * B).
Proof.
  intros C; apply (sum_over_records (euclid (Pair (Pair (Vec d) (Vec d)) Line))); intros z z' A A'; cbn [norm euclid].
  apply nrm_le; [lra |].
  pose proof (class_parts (cls z) (cls z') (vector z) (vector z')) as P.
  pose proof (dot_le _ _ (proj1 A)) as Q; pose proof (dot_le _ _ (proj1 A')) as Q'.
  pose proof (count_square z z' c A A') as K; pose proof (same_class z z' A A') as E.
  pose proof (cauchy (vector z) (vector z')) as I; pose proof (Rle_abs (- dot (vector z) (vector z'))) as I'; rewrite Rabs_Ropp in I'.
  assert (nrm (vector z) * nrm (vector z') <= B * B)
    by (destruct A as [A _]; destruct A' as [A' _]; pose proof (nrm_pos (vector z)); pose proof (nrm_pos (vector z')); nra).
  rewrite class_sum_distance.
  eapply Rle_trans; [apply Rplus_le_compat_r; exact P |].
  destruct (match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end).
  - rewrite E by reflexivity; rewrite dot_sub_sub; nra.
  - nra.
Qed.

(* (M+, M-) *)
Definition class_square (z : record d) : Pair (Mat d) (Mat d) :=
  (of_class (cls z) Positive (outer (vector z)), of_class (cls z) Negative (outer (vector z))).

Lemma class_square_distance (z z' : record d) : within B z -> within B z' ->
  dot (sub (class_square z) (class_square z')) (sub (class_square z) (class_square z')) <= 2 * (B * B * (B * B)).
Proof.
  intros A A'; eapply Rle_trans; [exact (class_parts (cls z) (cls z') (outer (vector z)) (outer (vector z'))) |].
  destruct (match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end).
  - eapply Rle_trans; [apply (outer_distance B _ _ (proj1 A) (proj1 A')) |].
    pose proof (Rle_0_sqr (dot (vector z) (vector z'))) as Q; unfold Rsqr in Q; lra.
  - rewrite !dot_outer; pose proof (fourth_le B _ (proj1 A)); pose proof (fourth_le B _ (proj1 A')); lra.
Qed.

Theorem class_second_moments : sensitivity nrm (within B) (vsum class_square) (sqrt 2 * (B * B)).
Proof.
  apply (sum_over_records (euclid (Pair (Mat d) (Mat d)))); intros z z' A A'; cbn [norm euclid].
  apply nrm_le; [apply Rmult_le_pos; [apply sqrt_pos | nra] |].
  eapply Rle_trans; [apply (class_square_distance z z' A A') |].
  replace (sqrt 2 * (B * B) * (sqrt 2 * (B * B))) with (sqrt 2 * sqrt 2 * (B * B * (B * B))) by ring.
  rewrite sqrt2; lra.
Qed.

(* (S+, S-, c n+, k M+, k M-) *)
Definition class_moment c k (z : record d) : Pair (Pair (Pair (Vec d) (Vec d)) Line) (Pair (Mat d) (Mat d)) :=
  (class_sum c z, scale k (class_square z)).

Theorem class_moments c k : 0 <= c -> 0 < k ->
  sensitivity nrm (within B) (vsum (class_moment c k))
    (Rmax (J (B * B) (k * (B * B) * (k * (B * B)))) (sqrt (2 * (B * B) + 2 * (k * (B * B) * (k * (B * B))) + c * c))).
Proof.
  intros C K; apply (sum_over_records (euclid (Pair (Pair (Pair (Vec d) (Vec d)) Line) (Pair (Mat d) (Mat d)))));
    intros z z' A A'; cbn [norm euclid].
  set (b := k * (B * B) * (k * (B * B))).
  assert (KK : 0 < k * k) by nra.
  assert (PB : 0 < b) by (unfold b; assert (0 < k * (B * B)) by (apply Rmult_lt_0_compat; nra); nra).
  pose proof (count_square z z' c A A') as N; pose proof (same_class z z' A A') as E.
  pose proof (class_parts (cls z) (cls z') (vector z) (vector z')) as P.
  pose proof (class_parts (cls z) (cls z') (outer (vector z)) (outer (vector z'))) as P'.
  assert (T : dot (sub (class_moment c k z) (class_moment c k z')) (sub (class_moment c k z) (class_moment c k z')) <=
    (if match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end
     then dot (sub (vector z) (vector z')) (sub (vector z) (vector z')) else dot (vector z) (vector z) + dot (vector z') (vector z')) +
    c * (share z - share z') * (c * (share z - share z')) +
    k * k * (if match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end
     then dot (sub (outer (vector z)) (outer (vector z'))) (sub (outer (vector z)) (outer (vector z')))
     else dot (outer (vector z)) (outer (vector z)) + dot (outer (vector z')) (outer (vector z')))).
  { eapply Rle_trans; [| apply Rplus_le_compat; [apply Rplus_le_compat_r; exact P | apply Rmult_le_compat_l; [lra | exact P']]].
    rewrite <- class_sum_distance.
    eapply Rle_trans; [apply Req_le; exact (dot_pair (class_sum c z) (class_sum c z') (scale k (class_square z)) (scale k (class_square z'))) |].
    rewrite dot_scaled_sub; apply Req_le; reflexivity. }
  destruct (match cls z, cls z' with Positive, Positive => true | Negative, Negative => true | _, _ => false end).
  - eapply Rle_trans; [| apply Rmax_l].
    apply nrm_le; [apply J_pos |]; eapply Rle_trans; [exact T |].
    rewrite (E eq_refl).
    pose proof (joint_distance B 1 HB k (1, vector z) (1, vector z') K) as H.
    unfold weighted, bounded in H; simpl fst in H; simpl snd in H.
    rewrite !Rmult_1_l, dot_scaled_sub, !Rmult_1_l in H.
    rewrite Rabs_R1 in H; specialize (H (conj (Rle_refl 1) (proj1 A)) (conj (Rle_refl 1) (proj1 A'))).
    eapply Rle_trans; [| exact H]; apply Req_le; ring.
  - eapply Rle_trans; [| apply Rmax_r].
    apply nrm_le; [apply sqrt_pos |]; eapply Rle_trans; [exact T |].
    rewrite sqrt_sqrt by nra; rewrite !dot_outer.
    pose proof (dot_le _ _ (proj1 A)); pose proof (dot_le _ _ (proj1 A')).
    pose proof (fourth_le B _ (proj1 A)) as F; pose proof (fourth_le B _ (proj1 A')) as F'.
    assert (k * k * (dot (vector z) (vector z) * dot (vector z) (vector z) + dot (vector z') (vector z') * dot (vector z') (vector z')) <=
      k * k * (2 * (B * B * (B * B)))) by (apply Rmult_le_compat_l; lra).
    unfold b; nra.
Qed.

(* Clusters: L times the number, and the sum, of the records of each of k clusters. *)
Section Clusters.
Variable k : nat.

Definition in_cluster {S : Space} (j : nat) (v : S) : Power k S := fun i => if Nat.eq_dec i j then v else zero.

Lemma one_cluster {S : Space} n j (v : S) (w : nat -> S) : (j < n)%nat ->
  sumn n (fun i => dot (if Nat.eq_dec i j then v else zero) (w i)) = dot v (w j).
Proof.
  intros H.
  assert (G : forall m, ((j < m)%nat -> sumn m (fun i => dot (if Nat.eq_dec i j then v else zero) (w i)) = dot v (w j)) /\
                        ((m <= j)%nat -> sumn m (fun i => dot (if Nat.eq_dec i j then v else zero) (w i)) = 0)).
  { induction m as [| m [G G']]; split; intros L; simpl; try lia; try reflexivity.
    - destruct (Nat.eq_dec m j) as [E | N]; [rewrite G' by lia; rewrite E; ring | rewrite G by lia; rewrite dot_zero; ring].
    - destruct (Nat.eq_dec m j) as [E | N]; [lia | rewrite G' by lia; rewrite dot_zero; ring]. }
  apply G; exact H.
Qed.

Lemma dot_cluster {S : Space} i j (v w : S) : (i < k)%nat ->
  dot (in_cluster i v) (in_cluster j w) = if Nat.eq_dec i j then dot v w else 0.
Proof.
  intros H; unfold in_cluster; simpl.
  rewrite (one_cluster k i v (fun l => if Nat.eq_dec l j then w else zero) H).
  destruct (Nat.eq_dec i j); [reflexivity | apply dot_zeror].
Qed.

Lemma cluster_parts {S : Space} i j (v w : S) : (i < k)%nat -> (j < k)%nat ->
  dot (sub (in_cluster i v) (in_cluster j w)) (sub (in_cluster i v) (in_cluster j w)) =
  if Nat.eq_dec i j then dot (sub v w) (sub v w) else dot v v + dot w w.
Proof.
  intros I L; rewrite (dot_sub_sub (in_cluster i v)), !dot_cluster by assumption.
  destruct (Nat.eq_dec i i); [| congruence]; destruct (Nat.eq_dec j j); [| congruence].
  destruct (Nat.eq_dec i j); [rewrite dot_sub_sub |]; ring.
Qed.

(* A record with its cluster, a function of the record and of public or released numbers. *)
Definition clustered (z : nat * Vec d) : Pair (Power k Line) (Power k (Vec d)) :=
  (in_cluster (S := Line) (fst z) B, in_cluster (fst z) (snd z)).

Theorem cluster_sums : sensitivity nrm (fun z : nat * Vec d => (fst z < k)%nat /\ nrm (snd z) <= B) (vsum clustered) (2 * B).
Proof.
  apply (sum_over_records (euclid (Pair (Power k Line) (Power k (Vec d))))); intros [i x] [j y] [I X] [L Y]; simpl in I, X, L, Y.
  cbn [norm euclid]; apply nrm_le; [lra |].
  eapply Rle_trans with (r2 := dot (sub (in_cluster (S := Line) i B) (in_cluster (S := Line) j B)) (sub (in_cluster (S := Line) i B) (in_cluster (S := Line) j B)) +
    dot (sub (in_cluster i x) (in_cluster j y)) (sub (in_cluster i x) (in_cluster j y))); [apply Req_le; reflexivity |].
  rewrite !cluster_parts by assumption.
  pose proof (dot_le _ _ X) as QX; pose proof (dot_le _ _ Y) as QY.
  destruct (Nat.eq_dec i j).
  - rewrite dot_sub_sub, dot_sub_sub; simpl dot at 1 2 3.
    pose proof (inner_small B x y X Y) as H; pose proof (Rle_abs (- dot x y)) as H'; rewrite Rabs_Ropp in H'; nra.
  - simpl dot at 1 2; lra.
Qed.

(* One count for each cell: a record leaves a cell and enters another. *)
Theorem cell_counts : sensitivity nrm (fun j : nat => (j < k)%nat) (vsum (fun j => in_cluster (S := Line) j 1)) (sqrt 2).
Proof.
  apply (sum_over_records (euclid (Power k Line))); intros i j I L; cbn [norm euclid].
  apply nrm_le; [apply sqrt_pos |]; rewrite sqrt2, cluster_parts by assumption.
  destruct (Nat.eq_dec i j); [rewrite dot_sub_sub; simpl; lra | simpl; lra].
Qed.

Lemma cell_norm j : (j < k)%nat -> manhattan k (in_cluster (S := Line) j 1) = 1.
Proof.
  intros L; pose proof (one_cluster (S := Line) k j 1 (fun _ => 1) L) as H; simpl in H.
  rewrite Rmult_1_r in H; rewrite <- H at 2; simpl; apply sumn_ext; intros i _; unfold in_cluster.
  destruct (Nat.eq_dec i j); simpl; [rewrite Rabs_R1 | rewrite Rabs_R0]; ring.
Qed.

Theorem cell_counts_manhattan : sensitivity (manhattan k) (fun j : nat => (j < k)%nat) (vsum (fun j => in_cluster (S := Line) j 1)) 2.
Proof.
  apply (sum_over_records (manhattan k)); intros i j I L.
  pose proof (norm_sub (manhattan k) (in_cluster (S := Line) i 1) (in_cluster (S := Line) j 1)) as H.
  rewrite !cell_norm in H by assumption; lra.
Qed.
End Clusters.
End Classes.

(* For each of m classifiers a number in [0, 1] that says whether a record is right. *)
Definition answers (m : nat) (v : Vec m) := forall i, (i < m)%nat -> 0 <= v i <= 1.

Lemma sumn_ones m : sumn m (fun _ => 1) = INR m.
Proof. induction m as [| m IH]; [reflexivity |]; cbn [sumn]; rewrite IH, S_INR; reflexivity. Qed.

Theorem right_counts m : sensitivity nrm (answers m) (vsum (fun v : Vec m => v)) (sqrt (INR m)).
Proof.
  apply (sum_over_records (euclid (Vec m))); intros v w A B; cbn [norm euclid].
  apply sqrt_le_1_alt; rewrite <- sumn_ones; simpl; apply sumn_le; intros i L.
  pose proof (A i L); pose proof (B i L); simpl in *; nra.
Qed.

Theorem right_counts_manhattan m : sensitivity (manhattan m) (answers m) (vsum (fun v : Vec m => v)) (INR m).
Proof.
  apply (sum_over_records (manhattan m)); intros v w A B.
  rewrite <- sumn_ones; simpl; apply sumn_le; intros i L.
  pose proof (A i L); pose proof (B i L); simpl in *; unfold Rabs; destruct (Rcase_abs _); lra.
Qed.

(* A number in an interval of length 2 L. *)
Theorem score_sum from L : sensitivity (S := Line) nrm (fun t : R => from <= t <= from + 2 * L) (vsum (S := Line) (fun t => t)) (2 * L).
Proof.
  apply (sum_over_records (euclid Line)); intros t u A B; cbn [norm euclid].
  apply nrm_le; [lra |]; rewrite dot_line; nra.
Qed.
